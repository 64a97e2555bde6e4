"""Which hypothesis of which paper's theorem an architecture breaks. No theorem applies to what people train today.

Every theorem about an architecture fixes it; the table says what it fixes, a fact about the checkpoint what breaks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from certiformer.theory.networks.architecture import Architecture, Tokens


@dataclass(frozen=True, slots=True)
class Facts:
    """What the checkpoint's architecture is, as far as theorems ask."""

    layers: int
    heads: int
    normalisation: str
    gains: bool
    biases: bool
    trained_embeddings: bool
    activation: str
    gated: bool
    rotary: bool
    scalar: bool


def facts(it: Architecture) -> Facts:
    attention, feed_forward = it.first
    norms = [norm for half in it.blocks[-1].halves for norm in (half.before, half.after) if norm is not None]
    return Facts(
        layers=len(it.blocks),
        heads=attention.heads,
        normalisation="RMSNorm" if norms[0].kind == "rms_norm" else "LayerNorm",
        gains=norms[0].gain,
        biases=bool(attention.biases or feed_forward.biases),
        trained_embeddings=not isinstance(it.source, Tokens),
        activation=feed_forward.activation,
        gated=feed_forward.gated,
        rotary=attention.rotary,
        scalar=it.end.classes == 1,
    )


Hypothesis = Callable[[Facts], str]
"""The sentence about what is broken; empty where the hypothesis holds."""


def _residual(it: Facts) -> str:
    return "no residual connections: here every block adds its input"


def _projection(it: Facts) -> str:
    return f"tokens are projected on a ball: here they pass {_norm(it)}"


def _norm(it: Facts) -> str:
    return f"{it.normalisation} with{'' if it.gains else 'out'} trained gains"


def _merged(it: Facts) -> str:
    between = ", with rotations between them" if it.rotary else ""
    return f"scores X W_QK^T x with one matrix W_QK: here W_Q and W_K are trained apart{between}"


def _biases(it: Facts) -> str:
    return "no biases: here the linear maps have them" if it.biases else ""


def _one_layer(it: Facts) -> str:
    return f"one layer: here {it.layers}" if it.layers > 1 else ""


def _one_head(it: Facts) -> str:
    return f"one head: here {it.heads}" if it.heads > 1 else ""


def _summed_heads(it: Facts) -> str:
    return "heads are summed, each with its own readout: here they are concatenated and mixed" if it.heads > 1 else ""


def _fixed_tokens(it: Facts) -> str:
    return "tokens are fixed: here the embedding is trained" if it.trained_embeddings else ""


def _scalar(it: Facts) -> str:
    return "" if it.scalar else "one scalar output: here one logit per class"


def _relu(it: Facts) -> str:
    name = f"gated {it.activation}" if it.gated else it.activation
    return "" if name == "relu" else f"ReLU after attention: here {name}"


def _ungated(it: Facts) -> str:
    return "an elementwise activation: here a product of two maps" if it.gated else ""


SHARED: tuple[Hypothesis, ...] = (_residual, _projection, _merged, _biases, _fixed_tokens, _scalar, _ungated)
SHALLOW: tuple[Hypothesis, ...] = (
    _one_layer,
    _residual,
    lambda it: f"no normalisation: here {_norm(it)}",
    _relu,
    _biases,
    _summed_heads,
    _fixed_tokens,
)
THEOREMS: dict[str, tuple[Hypothesis, ...]] = {
    **dict.fromkeys(
        ("trauger.thm4.1", "trauger.cor4.1.1", "trauger.corD.0.1", "trauger.corD.0.2"), (_one_layer, *SHARED)
    ),
    **dict.fromkeys(("trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2"), SHARED),
    **dict.fromkeys(
        ("li.thm4.4", "li.thmB.1", "li.thmB.4", "li.thm6.4", "li.thm6.9"), (_one_layer, _one_head, *SHARED)
    ),
    **dict.fromkeys(
        ("li.thm4.7", "li.thmB.2", "li.thmB.5", "li.thm6.5", "li.thm6.10"), (_one_layer, _summed_heads, *SHARED)
    ),
    **dict.fromkeys(("li.thm4.11", "li.thm5.3", "li.thm5.8", "li.thm6.6", "li.thm6.11"), (_summed_heads, *SHARED)),
    "mwigo.thm5": SHALLOW,
    "deora.thm1": SHALLOW,
    "arda.thm1": SHALLOW,
}


def violations(it: Facts) -> list[dict[str, str]]:
    """Every broken hypothesis, theorem by theorem."""
    return [
        {"id": id, "hypothesis": sentence}
        for id, hypotheses in THEOREMS.items()
        for hypothesis in hypotheses
        if (sentence := hypothesis(it))
    ]
