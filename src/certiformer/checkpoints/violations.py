"""Which hypothesis of which paper's theorem an architecture breaks. No theorem applies to what people train today.

Every theorem about an architecture fixes it; the table says what it fixes, a fact about the checkpoint what breaks it.
"""

from __future__ import annotations

from collections.abc import Mapping

from certiformer.theory.networks.architecture import Architecture, Tokens

SHARED = ("no residual", "projection", "merged scores", "no biases", "fixed tokens", "one output", "elementwise")
SHALLOW = (
    "one layer",
    "no residual",
    "no normalisation",
    "ReLU",
    "no biases",
    "summed heads",
    "fixed tokens",
)
THEOREMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("trauger.thm4.1", "trauger.cor4.1.1", "trauger.corD.0.1", "trauger.corD.0.2"), ("one layer", *SHARED)
    ),
    **dict.fromkeys(("trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2"), SHARED),
    **dict.fromkeys(
        ("li.thm4.4", "li.thmB.1", "li.thmB.4", "li.thm6.4", "li.thm6.9"), ("one layer", "one head", *SHARED)
    ),
    **dict.fromkeys(
        ("li.thm4.7", "li.thmB.2", "li.thmB.5", "li.thm6.5", "li.thm6.10"), ("one layer", "summed heads", *SHARED)
    ),
    **dict.fromkeys(("li.thm4.11", "li.thm5.3", "li.thm5.8", "li.thm6.6", "li.thm6.11"), ("summed heads", *SHARED)),
    "mwigo.thm5": SHALLOW,
    "deora.thm1": SHALLOW,
    "arda.thm1": SHALLOW,
}


def facts(it: Architecture) -> dict[str, str]:
    """What an architecture has against every hypothesis, in a sentence; nothing where the hypothesis holds."""
    attention, feed_forward = it.first
    norms = [norm for half in it.blocks[-1].halves for norm in (half.before, half.after) if norm is not None]
    kind = "RMSNorm" if norms[0].kind == "rms_norm" else "LayerNorm"
    norm = f"{kind} with{'' if norms[0].gain else 'out'} trained gains"
    rotated = ", with rotations between them" if attention.rotary else ""
    gated = feed_forward.gated
    activation = f"gated {feed_forward.activation}" if gated else feed_forward.activation
    several, layers = attention.heads > 1, len(it.blocks)
    summed = "heads are summed, each with its own readout: here they are concatenated and mixed"
    biased = attention.biases or feed_forward.biases
    return {
        "no residual": "no residual connections: here every block adds its input",
        "projection": f"tokens are projected on a ball: here they pass {norm}",
        "no normalisation": f"no normalisation: here {norm}",
        "merged scores": f"scores X W_QK^T x with one matrix W_QK: here W_Q and W_K are trained apart{rotated}",
        "no biases": "no biases: here the linear maps have them" if biased else "",
        "one layer": f"one layer: here {layers}" if layers > 1 else "",
        "one head": f"one head: here {attention.heads}" if several else "",
        "summed heads": summed if several else "",
        "fixed tokens": "" if isinstance(it.source, Tokens) else "tokens are fixed: here the embedding is trained",
        "one output": "" if it.end.classes == 1 else "one scalar output: here one logit per class",
        "ReLU": "" if activation == "relu" else f"ReLU after attention: here {activation}",
        "elementwise": "an elementwise activation: here a product of two maps" if gated else "",
    }


def violations(broken: Mapping[str, str]) -> list[dict[str, str]]:
    """Every broken hypothesis, theorem by theorem, from the `facts` of an architecture."""
    return [
        {"id": id, "hypothesis": broken[name]}
        for id, hypotheses in THEOREMS.items()
        for name in hypotheses
        if broken[name]
    ]
