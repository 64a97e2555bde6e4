"""The reference library, live (pip install torch transformers): every model of reference.py, run and attacked again."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from real import reference, weights

pytestmark = [pytest.mark.real, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", reference.MODELS)
def test_no_claim_is_exceeded(name, tmp_path):
    reference.quiet()
    found = reference.case(name, tmp_path / "m")
    for variant in weights.VARIANTS:
        if variant not in found:
            continue
        config = weights.settings(found["config"], variant)
        tensors = weights.of(found["shapes"], config, variant)
        claimed = weights.claims(weights.write(tmp_path / variant, tensors, config))
        slope, logit = found[variant]
        assert slope <= claimed["slope"] * (1 + 1e-6)
        assert logit <= claimed["logit"] * (1 + 1e-6)
