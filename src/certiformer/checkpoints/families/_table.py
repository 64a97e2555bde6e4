"""A family of architectures as data: from tensor names to roles.

A row says which module plays which role; the suffixes `.weight`, `.bias` (old files: `.gamma`, `.beta`) are added here.
`{n}` is the number of a layer. Roles are the same in all families, so that one builder serves them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Row:
    """One module: its name pattern, its role, how its tensors end, and how they are stored.

    `stored`: "out x in" (PyTorch's Linear), "in x out" (GPT-2's Conv1D), "rows" (a table, one row per entry).
    """

    pattern: str
    role: str
    kind: Literal["linear", "norm", "table", "bare", "buffer"]
    stored: Literal["out x in", "in x out", "rows"] = "out x in"


@dataclass(frozen=True, slots=True)
class Family:
    """One table: names and what no file says. `config` maps our settings to the names that config.json uses."""

    key: str
    title: str
    model_types: tuple[str, ...]
    rows: tuple[Row, ...]
    prefixes: tuple[str, ...] = ()
    normalisation: Literal["post", "pre"] = "post"
    norm: Literal["layer", "rms"] = "layer"
    rotary: bool = False
    causal: bool = False
    ties_head: bool = False
    shared_layers: bool = False
    dense: Literal["tanh", "relu"] = "tanh"
    """The activation of a dense layer before the classifier."""
    inputs: Literal["text", "patches", "tokens"] = "text"
    config: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)

    def patterns(self) -> list[tuple[re.Pattern[str], str, Row]]:
        """Every tensor name the table knows: pattern, role, row."""
        found = []
        for row in self.rows:
            escaped = re.escape(row.pattern).replace(r"\{n\}", r"(?P<layer>\d{1,5})").replace(r"\{i\}", r"\d{1,5}")
            found += [(re.compile(escaped + re.escape(end)), row.role + part, row) for end, part in ENDINGS[row.kind]]
        return found


ENDINGS = {
    "linear": ((".weight", ""), (".bias", ".bias")),
    "norm": ((".weight", ".gain"), (".gamma", ".gain"), (".bias", ".shift"), (".beta", ".shift")),
    "table": ((".weight", ""),),
    "bare": (("", ""),),
    "buffer": (("", ""),),
}
ENCODER_CONFIG = {
    "heads": ("num_attention_heads",),
    "layers": ("num_hidden_layers",),
    "eps": ("layer_norm_eps",),
    "activation": ("hidden_act",),
}
"""The names that config.json of BERT and its relatives uses."""
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
