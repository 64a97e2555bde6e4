"""Every family against the reference library: what its models attain (tests/real/reference.py) is within what we claim.

Weights come from seeds, so that nothing but names, shapes, settings and the attained numbers is stored.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.checkpoints import CheckpointError, Options, composing, inspect
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.checkpoint_error import NoNetwork
from certiformer.checkpoints.families import FAMILIES
from certiformer.checkpoints.keys import HARMLESS
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.network_builder import Model
from certiformer.checkpoints.roles import assign, oriented_shape
from certiformer.checkpoints.sizes import Sizes
from certiformer.cli import application
from certiformer.theory.core.errors import CertiformerError
from checkpoints import tiny
from real import weights

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "tests/vectors/families.json").read_text())
BENT = 0.44
"""A GELU in the head has half its steepest slope at 0, where attention is attacked."""
LOOSE = {
    ("modernbert biases, mean", "attention"): 0.04,  # the mean over tokens, where the attack moves one
    ("mistral", "attention"): 0.15,  # a window of two tokens
    ("qwen2", "attention"): 0.15,
    ("gemma2", "feed-forward"): 0.15,  # past the soft cap of the logits
    ("gemma2 caps", "feed-forward"): 0.04,
}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CERTIFORMER_CACHE", str(tmp_path / "cache"))


def written(name, folder, variant="random", drop=(), **more):
    case = VECTORS[name]
    config = weights.settings(case["config"], variant)
    tensors = weights.of(case["shapes"], config, variant)
    tensors = {key: values for key, values in tensors.items() if key not in drop} | more
    return weights.write(folder, tensors, config)


class Flat(Measurer):
    """Every norm is one: for tests of who asks for what."""

    def sizes(self, part, columns=None):
        return Sizes(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)

    def product(self, first, second):
        return 1.0


def built(folder, unused=()):
    return Model.of(assign(certiformer.checkpoints.open_checkpoint(folder)), unused=unused).build(
        Flat(Cache("norms", kept=False))
    )


ONE_EACH = {family: name for name, family in reversed([(n, c["config"]["model_type"]) for n, c in VECTORS.items()])}
"""The first model of every type."""


def cases():
    """Attention of every model, the other variants of one model of every type; the rest at leisure."""
    for name, case in VECTORS.items():
        for variant in weights.VARIANTS:
            if variant in case:
                often = variant == "attention" or name in ONE_EACH.values()
                yield pytest.param(name, variant, marks=() if often else pytest.mark.deep)


@pytest.mark.parametrize(("name", "variant"), list(cases()))
def test_what_the_library_attains_is_within_the_claim(name, variant, tmp_path):
    slope, logit = VECTORS[name][variant]
    claimed = weights.claims(written(name, tmp_path / "m", variant))
    # The library normalises in single precision.
    assert slope <= claimed["slope"] * (1 + 1e-6)
    assert logit <= claimed["logit"] * (1 + 1e-6)
    if variant != "random":
        bent = any(word in name for word in ("words", "electra", "modernbert", "distilbert"))
        least = LOOSE.get((name, variant), (BENT if bent else 1.0) / 3.0)
        assert slope >= least * claimed["slope"]


@pytest.mark.parametrize("name", VECTORS)
def test_every_tensor_is_used_once_and_config_json_describes_the_same_network(name, tmp_path):
    folder = written(name, tmp_path / "m")
    network, tensors = built(folder)
    roles = assign(certiformer.checkpoints.open_checkpoint(folder))
    for one in roles.assigned:
        spans = sorted(tensors.used[one.tensor.name])
        assert [stop for _, stop in spans[:-1]] == [start for start, _ in spans[1:]]
        assert (spans[0][0], spans[-1][1]) == (0, oriented_shape(one)[0])
    assert not roles.unknown
    entries = sum(math.prod(shape) for shape in VECTORS[name]["shapes"].values())
    by_config = certiformer.compose(folder / "config.json").network
    assert by_config.parameters == entries
    assert certiformer.theory.networks.Network("it", network.output).parameters <= entries  # gains may be folded
    assert any(roles.family.key == family.key for family in FAMILIES)


@pytest.mark.parametrize("name", ONE_EACH.values())
def test_a_tensor_missing_misshapen_or_too_many_ends_it(name, tmp_path):
    shapes = VECTORS[name]["shapes"]
    for at, key in enumerate(sorted(shapes)[::4]):
        with pytest.raises(CertiformerError, match=r"lack|play|as the architecture says|a count|layers"):
            built(written(name, tmp_path / f"a{at}", drop=(key,)))
        values = np.ones([*shapes[key][:-1], shapes[key][-1] + 1])
        with pytest.raises(CertiformerError):
            built(written(name, tmp_path / f"b{at}", **{key: values}))
    folder = written(name, tmp_path / "c", **{"encoder.secret.weight": np.ones((2, 2))})
    with pytest.raises(NoNetwork, match=r"--assume-unused 'encoder\.secret\.weight'"):
        built(folder)
    built(folder, unused=("encoder.secret.*",))


def _described(config):
    """The architecture, or the refusal."""
    try:
        return composing.described(config)
    except CheckpointError as refused:
        return str(refused) if "config.json sets" in str(refused) else "refused for another reason"


@pytest.mark.parametrize("name", ONE_EACH.values())
def test_every_key_is_read_harmless_or_refused(name):
    config = VECTORS[name]["config"]
    stated = composing.described(config)
    with pytest.raises(NoNetwork, match="sets use_magic = 3"):
        composing.described({**config, "use_magic": 3})
    assert composing.described({**config, "use_magic": 3}, unused=["use_magic"]) == stated
    for key, value in config.items():
        if not isinstance(value, bool) or key in HARMLESS or key in ("tie_word_embeddings", "decoder_bias"):
            continue  # the two are of heads that these models do not have
        assert _described({**config, key: not value}) not in (stated, "refused for another reason"), key


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("bert classifier", "position_embedding_type", "relative_key"),
        ("bert classifier", "add_cross_attention", True),
        ("bert classifier", "pruned_heads", {"0": [1]}),
        ("bert classifier", "quantization_config", {"bits": 4}),
        ("llama", "auto_map", {"AutoModel": "theirs.Model"}),
        ("llama", "rope_scaling", {"type": "newest", "factor": 2.0}),
        ("llama", "rope_scaling", {"type": "yarn", "factor": 2.0, "surprise": 1}),
        ("llama", "rope_scaling", {"type": "linear", "factor": 2.0, "attention_factor": 3.0}),
        ("qwen3", "layer_types", ["linear_attention", "full_attention"]),
        ("llama", "query_pre_attn_scalar", 4),
        ("bert classifier", "architectures", ["BertForMultipleChoice"]),
    ],
)
def test_settings_that_compute_something_else_are_named(name, key, value, tmp_path):
    folder = written(name, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    config.pop("rope_parameters", None)
    (folder / "config.json").write_text(json.dumps({**config, key: value}))
    document = inspect(folder)
    assert (document["layers"], document["log10_n_needed"]) == ([], None)
    inner = next(iter(set(value) - {"type", "factor"}), key) if key == "rope_scaling" else key
    assert inner.split("_")[0] in document["no_network"]
    assert all(entry["spectral"] is not None for entry in document["tensors"])
    with pytest.raises(CheckpointError):
        certiformer.compose(folder / "config.json")


def test_every_harmless_key_has_a_reason():
    assert all(len(reason.split()) > 2 for reason in HARMLESS.values())


def test_what_is_assumed_unused_stands_in_the_headline(tmp_path):
    extra = {"bert.adapter.weight": np.ones((3, 3)), "bert.adapter.bias": np.ones(3)}
    folder = written("bert tokens", tmp_path / "m", **extra)
    run = CliRunner().invoke
    told = " ".join(run(application(), ["inspect", str(folder)]).stdout.split())
    assert "sizes only, no network, because" in told
    assert "grows at most" not in told
    assert "--assume-unused 'bert.adapter.*'" in told
    done = run(application(), ["inspect", str(folder), "--assume-unused", "bert.adapter.*"])
    told = " ".join(done.stdout.split())
    assert "if bert.adapter.* play no part: the covering bound" in told
    assert "grows at most" in told
    document = inspect(folder, Options(assume_unused=("bert.adapter.*",)))
    assert document["assumed_unused"] == ["bert.adapter.*"]
    assert document.headline in told
    found = certiformer.compose(folder, assume_unused=["bert.adapter.*"])
    assert "bert.adapter.*" in found.hypotheses[0]["requires"]


def test_a_head_that_is_assumed_unused_leaves_the_bare_encoder(tmp_path):
    folder = written("bert words", tmp_path / "m")
    whole, bare = inspect(folder), inspect(folder, Options(assume_unused=("cls.*",)))
    assert any("logits of a token" in remark for remark in whole["remarks"])
    assert any("readout of unit norm" in remark for remark in bare["remarks"])
    assert bare["sensitivity_log10"] < whole["sensitivity_log10"]
    with pytest.raises(CheckpointError, match="lack the up"):
        inspect(folder, Options(assume_unused=("*.intermediate.*",)))


def test_a_checkpoint_composes_as_it_is_inspected(tmp_path):
    folder = written("gpt2", tmp_path / "m")
    found, document = certiformer.compose(folder), inspect(folder)
    assert found.network.origin == "measured"
    slopes = [row["log10_sensitivity"] for row in found.layers]
    assert any(slope == pytest.approx(document["sensitivity_log10"], abs=1e-12) for slope in slopes if slope)


def test_tied_weights_that_are_stored_twice_must_agree(tmp_path):
    case = VECTORS["llama biases, tied"]
    table = weights.draw("model.embed_tokens.weight", tuple(case["shapes"]["model.embed_tokens.weight"]))
    built(written("llama biases, tied", tmp_path / "a", **{"lm_head.weight": table}))
    with pytest.raises(NoNetwork, match="lm_head"):
        built(written("llama biases, tied", tmp_path / "b", **{"lm_head.weight": 2.0 * table}))


def test_layer_scale_of_timm(tmp_path):
    """z + gamma * f(z): doubling gamma is doubling the map before it."""
    tensors, _ = tiny.timm()
    scales = {f"blocks.{n}.ls{i}.gamma": np.full(tiny.D, 0.5, np.float32) for n in range(tiny.L) for i in (1, 2)}

    def look(name, more):
        return inspect(tiny.write_npz(tmp_path / f"{name}.npz", {**tensors, **more}), Options(heads=tiny.H))

    plain, halved = look("a", {}), look("b", scales)
    doubled = look("c", {key: 2.0 * values for key, values in scales.items()})
    assert halved["no_network"] is None
    assert halved["sensitivity_log10"] < plain["sensitivity_log10"]
    assert doubled["sensitivity_log10"] == pytest.approx(plain["sensitivity_log10"], abs=1e-9)
    assert doubled["parameters"] == plain["parameters"] + 2 * tiny.L * tiny.D
