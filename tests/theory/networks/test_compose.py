"""`certiformer compose`: every example, the JSON contract, configurations, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.checkpoints import composing
from certiformer.cli import application
from certiformer.theory import networks as net
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks import description
from certiformer.theory.networks.architecture import ACTIVATIONS
from certiformer.theory.networks.network import Network

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "networks").glob("*.toml"))
SMALL: dict[str, Any] = {
    "samples": 1000,
    "radii": [0.1],
    "tokens": {"dimension": 4, "positions": 3, "radius": 1.0},
    "weights": {"default": {"spectral": 1.0}},
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
    assert {one["state"] for one in document["hypotheses"]} <= {"verified", "stated", "open", "fails"}
    assert picture.stat().st_size > 1000


def test_dictionary_graph_and_network_say_the_same() -> None:
    first = certiformer.compose(SMALL)
    graph = description.network(SMALL).output
    second = certiformer.compose(graph, n=1000, radii=[0.1])
    third = certiformer.compose(Network("network", graph, 1000, (0.1,)))
    assert first.log_covering == second.log_covering == third.log_covering
    assert "parameters" in first._repr_html_()


def test_what_is_not_lipschitz_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="not continuous at ties"):
        composing.described({"model_type": "mixtral", "num_local_experts": 8})
    with pytest.raises(InputError, match="not continuous at ties"):
        description.network(SMALL | {"blocks": [{"kind": "moe"}]})
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
        ({"weights": {**SMALL["weights"], "gain": {"max_row": 1.0}}}, "weights.gain"),
        ({"weights": {"default": {"spectral": 1.0, "copies": 3}}}, "copies"),
        ({"weights": {"default": {"spectral": 1.0, "reference": {"norm": 1.0}}}}, "reference.norm"),
        ({"blocks": [{"normalisation": {"eps": 1e-3}}]}, "a place for it"),
        ({"blocks": [{"norm": "pre", "qk_norm": True}]}, "rms_norm"),
        ({"blocks": [{"chosen": 2}]}, "`experts` beside it"),
        ({"blocks": [{"experts": 3, "gap": 0.5}]}, "`chosen` beside it"),
        ({"blocks": [{"experts": 3, "chosen": 3, "gap": 0.5}]}, "soft routing"),
        ({"blocks": [{"heads": 3}]}, "divides the width 4"),
        ({"blocks": [{"heads": 2, "key_heads": 4}]}, "divides the 2 heads"),
        ({"blocks": [{"merged": True, "rotary": True}]}, "separate matrices"),
        ({"blocks": [{"merged": True, "biases": True}]}, "separate matrices"),
        ({"blocks": [{"merged": True, "cap": 3.0}]}, "separate matrices"),
        ({"blocks": [{"merged": True, "qk_norm": True}]}, "separate matrices"),
        ({"blocks": [{"alibi": "fixed"}]}, "a cap beside it"),
        ({"blocks": [{"kind": "attention", "hidden": 8}]}, "hidden"),
        ({"blocks": [{"kind": "feed_forward", "rotary": True}]}, "rotary"),
        ({"blocks": [{"norm": "pre", "normalisation": {"kind": "rms_norm", "shift": True}}]}, "shift"),
        ({"blocks": [{"norm": "pre", "normalisation": {"radius": 2.0}}]}, "radius"),
        ({"blocks": [{"norm": "pre", "normalisation": {"trained": False, "shift": True}}]}, "no shift"),
        ({"blocks": [{"residual": "yes"}]}, "true or false"),
        ({"readout": {"cap": 3.0}}, "several classes"),
        ({"readout": {"tied": True}}, "embedding"),
        ({"readout": {"dimension": 4}}, "dimension"),
    ],
)
def test_errors_name_the_key(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        certiformer.compose(SMALL | change)


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


def test_experts_and_copies_count_as_parameters() -> None:
    moe = {"kind": "feed_forward", "hidden": 64, "experts": 64}
    given = {
        "tokens": {"dimension": 16, "positions": 8, "radius": 1.0},
        "weights": {"default": {"spectral": 1.0}},
        "blocks": [moe],
    }
    found = certiformer.compose(given)
    assert found.network.parameters == 64 * 2 * 16 * 64 + 64 * 16 + 16
    assert sum(row["parameters"] for row in found.dominating) == found.network.parameters
    copied = net.scale(net.linear(net.tokens(4, 1.0, positions=1), net.Weight("W", (1, 4), spectral=1.0, copies=3)), 3)
    assert certiformer.compose(copied).network.parameters == 12


def test_biases_of_a_gated_block_count() -> None:
    """silu(1) * 1 + 1 is attained by the class; without its biases the block never passes 1."""

    def found(**more: Any) -> Any:
        block = {"kind": "feed_forward", "hidden": 4, "gated": True, "activation": "silu", "residual": False, **more}
        return certiformer.compose(SMALL | {"blocks": [block]})

    plain, shifted = found(), found(biases=True)
    assert shifted.network.parameters == plain.network.parameters + 4 + 4 + 4
    assert plain.range <= 1.0 + 1e-9
    assert shifted.range >= 1.73


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_works_in_every_block(name: str, gated: bool) -> None:
    block = {"kind": "feed_forward", "activation": name, "gated": gated, "biases": True}
    assert certiformer.compose(SMALL | {"blocks": [block]}).range > 0.0
