"""A family of architectures: what it computes, stated, and which tensor plays which role in it.

A row says which module plays which role; the suffixes `.weight`, `.bias` (old files: `.gamma`, `.beta`) are added here.
`{n}` is the number of a layer, `{i}` that of a layer inside a group. Roles are the same in all families, so that one
builder serves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Dense, End, Norm, Tables


@dataclass(frozen=True, slots=True)
class Row:
    """One module: its name pattern, its role, how its tensors end, and how they are stored.

    `stored`: "out x in" (PyTorch's Linear), "in x out" (GPT-2's Conv1D), "rows" (a table, one row per entry), "by head"
    (GPT-NeoX: queries, keys and values of one head after the other).
    """

    pattern: str
    role: str
    kind: Literal["linear", "norm", "table", "bare", "buffer"]
    stored: Literal["out x in", "in x out", "rows", "by head"] = "out x in"


@dataclass(frozen=True, slots=True)
class Family:
    """Names to roles, and `architecture`: from the settings of a file and the number of its layers to what it computes.

    `gain`: what a norm adds to the gain in the file. `formats`: those in which the tensors mean the same.
    """

    key: str
    title: str
    model_types: tuple[str, ...]
    rows: tuple[Row, ...]
    architecture: Callable[[Keys, int | None], Architecture]
    prefixes: tuple[str, ...] = ()
    gain: float = 0.0
    gguf: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(
        default_factory=lambda: {"head": "word", "masked.head": "word", "masked.head.bias": "masked.shift"}
    )
    """Tied weights that some files store twice: the role of the copy, and of what it is a copy of."""

    def patterns(self) -> list[tuple[re.Pattern[str], str, Row]]:
        """Every tensor name the table knows: pattern, role, row."""
        found = []
        for row in self.rows:
            escaped = (
                re.escape(row.pattern).replace(r"\{n\}", r"(?P<layer>\d{1,5})").replace(r"\{i\}", r"(?P<inner>\d{1,5})")
            )
            found += [(re.compile(escaped + re.escape(end)), row.role + part, row) for end, part in ENDINGS[row.kind]]
        return found


ENDINGS = {
    "linear": ((".weight", ""), (".bias", ".bias")),
    "norm": ((".weight", ".gain"), (".gamma", ".gain"), (".bias", ".shift"), (".beta", ".shift")),
    "table": ((".weight", ""),),
    "bare": (("", ""),),
    "buffer": (("", ""),),
}
COMMON_PREFIXES = ("module.", "_orig_mod.", "base_model.model.")


def linear(pattern: str, role: str) -> Row:
    return Row(pattern, role, "linear")


def conv1d(pattern: str, role: str) -> Row:
    return Row(pattern, role, "linear", "in x out")


def norm(pattern: str, role: str) -> Row:
    return Row(pattern, role, "norm")


def table(pattern: str, role: str) -> Row:
    return Row(pattern, role, "table", "rows")


def bare(pattern: str, role: str) -> Row:
    return Row(pattern, role, "bare")


def buffer(*patterns: str) -> tuple[Row, ...]:
    """Masks, positions and other constants that are not weights."""
    return tuple(Row(pattern, "buffer", "buffer") for pattern in patterns)


RAMP = (2.0, 1.0)
"""The ramp loss of margin 1: 2-Lipschitz in the largest error of a logit, in [0, 1]."""


def layer_norm(eps: float) -> Norm:
    """LayerNorm with a trained gain and shift."""
    return Norm("layer_norm", eps, shift=True)


def bare_end(norm: Norm | None = None) -> End:
    """A readout of unit norm."""
    return End(norm, loss=(1.0, 1.0))


def classifier_end(classes: int, norm: Norm | None, dense: tuple[Dense, ...] = (), *, bias: bool) -> End:
    loss = RAMP if classes > 1 else (1.0, 1.0)
    shift = "classifier.bias" if bias else ""
    return End(norm, dense=dense, role="classifier", classes=classes, bias=shift, loss=loss)


def encoder_end(
    keys: Keys, width: int, table: Tables, *, pooler: str = "", dense: str = "", masked: str = "", norm: Norm
) -> End:
    """The head of an encoder: a classifier behind its hidden layer or the pooler, a masked language model, or none.

    `pooler`, `dense`, `masked`: the activations of these, empty where the family has no such layer.
    """
    tied, head = keys.tied(True), keys.head("classifier")
    if head in ("classifier", "tokens"):
        hidden: tuple[Dense, ...] = ()
        if head == "classifier" and dense and keys.has("classifier.dense", default=True):
            hidden = (Dense("classifier.dense", width, dense),)
        elif head == "classifier" and pooler and keys.has("pooler", default=True):
            hidden = (Dense("pooler", width, pooler),)
        return classifier_end(keys.classes(), None, hidden, bias=True)
    if head == "masked" and masked:
        hidden = (Dense("masked.dense", table.dimension, masked, norm),)
        shift = "masked.shift" if keys.has("masked.shift", default=True) else "masked.head.bias"
        role = "word" if tied else "masked.head"
        return End(dense=hidden, role=role, classes=table.entries["word"], bias=shift, loss=RAMP)
    return bare_end()


def decoder_end(keys: Keys, words: int, norm: Norm, *, tied: bool, bias: bool = False) -> End:
    """The logits of the next token, a classifier on one token, or none."""
    shares, head = keys.tied(tied), keys.head("words")
    if head in ("classifier", "tokens"):
        return classifier_end(keys.classes(), norm, bias=False)
    if not head:
        return bare_end(norm)
    role = "word" if shares else "head"
    return End(norm, pool="last", role=role, classes=words, bias="head.bias" if bias else "", loss=RAMP)
