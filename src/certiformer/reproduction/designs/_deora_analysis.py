"""What the analyses of Deora et al.'s experiments share: the names of their runs, and places on their curves."""

from __future__ import annotations

import math
from collections.abc import Callable

from certiformer.reproduction.sweep import Config, Row

STARTS = ("zero", "one-step")


def mixture(S: float, *, tokens: int, zeta: float, d: int) -> Config:
    """Signal S, two irrelevant patterns, and noise that grows with the signal."""
    sizes = {"S": S, "Z_mu": 0.05 * S**2, "Z_nu": 0.05 * S**2, "Z": 0.25 * S, "noise": 0.075 * S}
    return {"tokens": tokens, "zeta": zeta, "M": 2, "d": d, **sizes}


def named(config: Config) -> str:
    """A kind of run."""
    return f"{config['start']} start, H = {power(config['heads'])}"


def power(heads: int) -> str:
    """2^30 rather than 1073741824."""
    return f"2^{heads.bit_length() - 1}" if heads > 4096 and heads.bit_count() == 1 else str(heads)


def at(name: str, index: int = -1) -> Callable[[Row], float]:
    """The end of a curve, or another place on it; "gap" is the test loss minus the training loss."""

    def value(row: Row) -> float:
        if name == "gap":
            return float(row.arrays["test"][index] - row.arrays["train"][index])
        return float(row.arrays[name][index])

    return value


def octaves(first: int, last: int, per_octave: int = 2) -> list[int]:
    """first 2^{j / per_octave}, rounded, up to `last`: the steps at which a run is looked at."""
    count = round(per_octave * math.log2(last / first))
    return [round(first * 2 ** (j / per_octave)) for j in range(count + 1)]
