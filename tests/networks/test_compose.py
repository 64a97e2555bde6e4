"""`certiformer compose`: every example, the JSON contract, configurations, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import certiformer
from certiformer import networks as net
from certiformer.cli import application
from certiformer.core.errors import InputError
from certiformer.networks import description, families
from certiformer.networks.network import Network

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "networks").glob("*.toml"))
SMALL: dict[str, Any] = {
    "samples": 1000,
    "radii": [0.1],
    "tokens": {"dimension": 4, "positions": 3, "radius": 1.0},
    "weights": {"default": {"spectral": 1.0}, "gain": {"max_row": 1.0}},
    "blocks": [{"heads": 2, "hidden": 8}],
    "readout": {"pool": "cls"},
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_composes(path: Path) -> None:
    found = description.load(path)
    assert found.name == path.stem
    assert found.analysis.range.finite
    assert len(found.analysis.coefficients) > 2


def test_the_json_contract(tmp_path: Path) -> None:
    picture = tmp_path / "layers.svg"
    path = next(one for one in EXAMPLES if one.stem == "projected")
    command = ["compose", str(path), "--json", "--plot", str(picture), "--radius", "0.5", "-n", "100"]
    answer = CliRunner().invoke(application(), command)
    assert answer.exit_code == 0, answer.output
    document = json.loads(answer.output)
    assert {"layers", "coefficients", "log_covering", "complexity", "range", "dominating", "hypotheses"} <= set(
        document
    )
    assert document["log_covering"] == {"0.5": 0.0}  # nobody is farther than 0.49 from zero
    assert 0.0 < document["complexity"] <= document["range"]
    assert {one["state"] for one in document["hypotheses"]} <= {"verified", "vouched", "open", "fails"}
    assert picture.stat().st_size > 1000


def test_dictionary_graph_and_network_say_the_same() -> None:
    first = certiformer.compose(SMALL)
    graph = description.build(SMALL).output
    second = certiformer.compose(graph, n=1000, radii=[0.1])
    third = certiformer.compose(Network("network", graph, 1000, (0.1,)))
    assert first.log_covering == second.log_covering == third.log_covering
    assert "parameters" in first._repr_html_()


CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {"hidden_size": 8, "max_position_embeddings": 6, "vocab_size": 11, "num_hidden_layers": 2}
    | {"num_attention_heads": 2, "intermediate_size": 16, "hidden_act": "gelu"},
    "albert": {"hidden_size": 8, "max_position_embeddings": 6, "vocab_size": 11, "num_hidden_layers": 3}
    | {"num_attention_heads": 2, "intermediate_size": 16, "hidden_act": "gelu_new"},
    "vit": {"hidden_size": 8, "image_size": 8, "patch_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2}
    | {"intermediate_size": 16, "hidden_act": "gelu"},
    "gpt2": {"n_embd": 8, "n_positions": 6, "vocab_size": 11, "n_layer": 1, "n_head": 2},
    "llama": {"hidden_size": 8, "max_position_embeddings": 6, "vocab_size": 11, "num_hidden_layers": 1}
    | {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 16, "rms_norm_eps": 1e-5},
    "qwen3": {"hidden_size": 8, "max_position_embeddings": 6, "vocab_size": 11, "num_hidden_layers": 1}
    | {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16, "rms_norm_eps": 1e-6},
    "gemma2": {"hidden_size": 8, "max_position_embeddings": 6, "vocab_size": 11, "num_hidden_layers": 1}
    | {"num_attention_heads": 2, "intermediate_size": 16, "attn_logit_softcapping": 50.0}
    | {"final_logit_softcapping": 30.0, "hidden_activation": "gelu_pytorch_tanh"},
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_configurations(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind, **CONFIGS[kind]}))
    found = certiformer.compose(path, n=100, radii=[0.1], spectral=0.5)
    assert found.range > 0.0
    assert found.hypotheses[0]["state"] == "open"
    if kind == "albert":
        assert sum(name.endswith(".up") for name in found.coefficients) == 1


def test_what_is_not_lipschitz_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="not continuous at ties"):
        families.describe({"model_type": "mixtral", "num_local_experts": 8})
    with pytest.raises(InputError, match="not continuous at ties"):
        description.build(SMALL | {"blocks": [{"kind": "moe"}]})
    with pytest.raises(InputError, match="not Lipschitz at 0"):
        net.unit(net.tokens(2, 1.0, positions=1), 0.0)
    with pytest.raises(InputError, match="a positive number"):
        net.layer_norm(net.tokens(2, 1.0, positions=1), eps=0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"block": []}, "network.block"),
        ({"blocks": [{"head": 2}]}, "head"),
        ({"readout": {"pool": "median"}}, "cls, last, mean"),
        ({"readout": {"classes": 3}}, "a loss for several classes"),
        ({"weights": {}}, "weights"),
        ({"weights": {"default": {"spectrum": 1.0}}}, "spectral"),
    ],
)
def test_errors_name_the_key(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        description.build(SMALL | change)


def test_floors_are_conditions_and_no_complexity() -> None:
    graph = net.readout(
        net.pick(
            net.rms_norm(net.linear(net.tokens(4, 1.0, positions=2), net.Weight("W", (4, 4), spectral=1.0)), floor=0.5)
        ),
        net.Weight("w", (1, 4), spectral=1.0),
    )
    found = certiformer.compose(graph, n=100, radii=[0.1])
    assert found.complexity is None
    (condition,) = found.analysis.conditions(0.1)
    assert condition.floor == 0.5
    assert condition.counted_below > 0.5
    with pytest.raises(InputError, match=r"cover\.floors"):
        found.analysis.rademacher(100)
    plain = net.analyse(net.rms_norm(net.tokens(4, 1.0, positions=2), eps=1e-12))
    assert plain.conditional == ()
