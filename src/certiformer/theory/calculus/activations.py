r"""Bounded activations: |sigma| <= s0, |sigma'| <= s1, |sigma''| <= s2 on the whole line, each constant a supremum.

==========  ====================  ==========  =========================
name        sigma(x)              s1          s2
==========  ====================  ==========  =========================
tanh        tanh x                1           4/(3 sqrt 3)
erf         erf(x/sqrt 2)         sqrt(2/pi)  sqrt(2/(pi e))
sigmoid     1/(1 + e^{-x})        1/4         1/(6 sqrt 3)
sin         sin x                 1           1
==========  ====================  ==========  =========================

s0 = 1 for all four (approached, not attained, except by sin).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from certiformer.theory.core.errors import UnknownNameError
from certiformer.theory.core.lazy import Array, np, scipy


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation with the suprema of its absolute value and of its first two derivatives."""

    name: str
    s0: float
    s1: float
    s2: float
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            # tanh'' = -2 t (1 - t^2) is extreme at t = 1/sqrt 3
            Activation(
                "tanh", 1.0, 1.0, 4.0 / (3.0 * math.sqrt(3.0)), lambda x: np.tanh(x), lambda x: 1.0 - np.tanh(x) ** 2
            ),
            # sigma'' = -sqrt(2/pi) x e^{-x^2/2} is extreme at x = 1
            Activation(
                "erf",
                1.0,
                math.sqrt(2.0 / math.pi),
                math.sqrt(2.0 / (math.pi * math.e)),
                lambda x: scipy.special.erf(x / math.sqrt(2.0)),
                lambda x: math.sqrt(2.0 / math.pi) * np.exp(-(x**2) / 2.0),
            ),
            # sigma(x) = (1 + tanh(x/2))/2
            Activation(
                "sigmoid",
                1.0,
                0.25,
                1.0 / (6.0 * math.sqrt(3.0)),
                lambda x: scipy.special.expit(x),
                lambda x: scipy.special.expit(x) * scipy.special.expit(-x),
            ),
            Activation("sin", 1.0, 1.0, 1.0, lambda x: np.sin(x), lambda x: np.cos(x)),
        )
    }
)


def activation(name: str) -> Activation:
    """The activation with this name."""
    if name not in ACTIVATIONS:
        raise UnknownNameError("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]
