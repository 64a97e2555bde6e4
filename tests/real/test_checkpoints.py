"""Real weights and texts: fetched on demand, against the reference values of an independent computation."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import certiformer
from certiformer.checkpoints import Options, inspect, open_checkpoint
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.encoder import Encoder
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.network_builder import Model
from certiformer.checkpoints.roles import assign
from certiformer.theory.measure.spectral import spectral_norms

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
UNPOOLED = Options(assume_unused=("pooler.*",))
"""These models are read through the mean of their tokens."""
REFERENCE = json.loads((ROOT / "tests/vectors/checkpoints.json").read_text())


def material(name):
    """The path of the material; skipped visibly where it cannot be fetched."""
    spec = importlib.util.spec_from_file_location("material", ROOT / "examples/material.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.fetch(name)
    except RuntimeError as error:
        pytest.skip(f"{name} cannot be fetched: {str(error)[:200]}")


def by_name(document):
    return {entry["name"]: entry for entry in document["tensors"]}


def test_minilm_norms_layers_and_totals():
    document = inspect(material("minilm"), UNPOOLED)
    assert (document["family"], document["not_recognised"]) == ("bert", [])
    found = by_name(document)
    for name, value in REFERENCE["minilm"]["spectral"].items():
        assert found[name]["spectral"] == pytest.approx(value, rel=1e-9)
    assert document["sensitivity_log10"] == pytest.approx(REFERENCE["minilm"]["log10_sensitivity"], abs=1e-8)
    halves = [layer[name] for layer in document["layers"] for name in ("attention_log10", "feed_forward_log10")]
    np.testing.assert_allclose(halves, REFERENCE["minilm"]["log10_factors"], atol=1e-8)


def test_minilm_embeddings():
    tokenizers = pytest.importorskip("tokenizers")
    folder = material("minilm")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    for precision, close in (("double", 2e-8), ("single", 2e-6)):
        encoder = Encoder(folder, precision=precision)
        units = []
        for sentence in REFERENCE["minilm"]["sentences"]:
            ids = tokenizer.encode(sentence["text"]).ids
            assert ids == sentence["ids"]
            vector = encoder.vector(ids)
            assert np.linalg.norm(vector) == pytest.approx(sentence["norm"], rel=close)
            units.append(vector / np.linalg.norm(vector))
            np.testing.assert_allclose(units[-1][:6], sentence["unit"], atol=close)
        assert units[0] @ units[1] == pytest.approx(REFERENCE["minilm"]["cosine"], abs=close)


def test_albert_in_the_legacy_torch_format():
    document = inspect(material("albert"), Options(assume_unused=("albert.pooler.*",)))
    assert (document["family"], document["format"], len(document["layers"])) == ("albert", "torch (legacy)", 12)
    found = by_name(document)
    at = "albert.encoder.albert_layer_groups.0.albert_layers.0."
    for name, value in REFERENCE["albert"].items():
        assert found[f"{at}{name}.weight"]["spectral"] == pytest.approx(value, rel=1e-8)


def test_smollm2_in_gguf():
    path = material("smollm2")
    document = inspect(path)
    assert (document["family"], document["not_recognised"]) == ("llama", [])
    found = by_name(document)
    for name, value in REFERENCE["smollm2"]["spectral"].items():
        assert found[f"{name}.weight"]["spectral"] == pytest.approx(value, rel=1e-9)
    roles = assign(open_checkpoint(path))
    _, weights = Model.of(roles).build(Measurer(Cache("norms", kept=False)))
    assert weights.measurer.sizes(weights.part("query", 0)).spectral == pytest.approx(7.636507, abs=1e-6)
    table = open_checkpoint(path).tensors["token_embd.weight"].array().astype(float)
    assert math.sqrt((table**2).sum(1).max()) == pytest.approx(REFERENCE["smollm2"]["largest_row"], rel=1e-8)


def test_norms_cost_a_part_of_svds():
    document = inspect(material("minilm"), Options(cache=False))
    checkpoint = open_checkpoint(material("minilm"))
    names = [entry["name"] for entry in document["tensors"] if len(entry["shape"]) == 2 and max(entry["shape"]) < 2000]
    matrices = [checkpoint.tensors[name].array() for name in names]
    with pytest.importorskip("threadpoolctl").threadpool_limits(1, "blas"):
        start = time.process_time()
        for matrix in matrices:
            np.linalg.svd(matrix.astype(float), compute_uv=False)
        theirs, start = time.process_time() - start, time.process_time()
        for matrix in matrices:
            spectral_norms(matrix)
        ours = time.process_time() - start
    assert ours <= 0.4 * theirs


def test_a_spam_filter_with_guarantees(tmp_path):
    pytest.importorskip("tokenizers")
    from certiformer.certification.verify import verify
    from certiformer.lab.probing.probe import probe

    found = probe(material("minilm"), material("spam"), most=4000, delta=0.05, repeats="group")
    _, report = found.write(tmp_path)
    rows = {row.id: row.value for row in found.report.statements if row.value is not None and row.version == "sound"}
    assert rows["holdout"] <= 0.05
    assert min(rows[id] for id in ("occam", "pacbayes.gibbs", "pacbayes.single", "compression")) <= 0.09
    assert found.report.document["provenance"]["repeated_texts"] > 0
    assert verify(report, data=tmp_path / "features.npz").agrees


def test_an_adapter_of_sixteen_coordinates_with_floors():
    """Settings of the published run; the statistics of the mails are remembered for the page's table."""
    pytest.importorskip("tokenizers")
    from certiformer.lab.probing.adapter import AdapterSettings, adapt

    chosen = AdapterSettings.of(ROOT / "examples/spam_adapter.toml")
    card = adapt(material("minilm"), material("spam"), chosen, delta=0.05, repeats="group").card
    assert card["coordinates"] == 16
    assert card["n"] > 5_900
    assert card["bound"] < 0.30
    assert card["below_the_floor_only"] < 0.003


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("inspect_minilm", "needs 10^"),
        ("compare_fine_tuned", "moved"),
        ("certify_a_spam_filter", "two new mails: spam, ham"),
    ],
)
def test_an_example(script, said, tmp_path):
    material("minilm")
    if "spam" in script:
        pytest.importorskip("tokenizers")
        material("spam")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{script}.py"), *(["out"] if "spam" in script else [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1700,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(certiformer.__file__).parents[1]), "COLUMNS": "100"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert said in " ".join(done.stdout.split())
