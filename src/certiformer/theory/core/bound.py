"""A bound: a number that is never nan, with what it is made of and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from certiformer.theory.core import rounding
from certiformer.theory.core.elementwise import least, raised, several
from certiformer.theory.core.hypothesis import Hypothesis
from certiformer.theory.core.quantity import Direction, Quantity
from certiformer.theory.core.records import fast_replace, set_fields

_LN10 = math.log(10.0)
_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, init=False)
class Bound:
    """One variant of one side of a result.

    `terms` add up to the unclipped value when `additive`, and are named factors otherwise.
    `clipped` says that the value is a trivial ceiling (range of the loss, of the class), not the formula's own.
    `ln` is the natural logarithm of the value where the value itself may overflow.
    `bounds` overrides what the result as a whole bounds; `Quantity.CONSTANT` marks a by-product that bounds nothing.
    """

    value: float
    terms: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    additive: bool = False
    clipped: bool = False
    trivial: float | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    bounds: Quantity | None = None
    ln: float | None = None
    note: str = ""

    def __init__(
        self,
        value: float,
        terms: Mapping[str, float] = _NOTHING,
        additive: bool = False,
        clipped: bool = False,
        trivial: float | None = None,
        hypotheses: tuple[Hypothesis, ...] = (),
        bounds: Quantity | None = None,
        ln: float | None = None,
        note: str = "",
    ) -> None:
        if terms or several(value):
            terms = _checked(value, terms, additive, clipped)
        elif math.isnan(value):
            raise ArithmeticError("a bound must not be nan")
        set_fields(
            self,
            "__dict__",
            {
                "value": value,
                "terms": terms or _NOTHING,
                "additive": additive,
                "clipped": clipped,
                "trivial": trivial,
                "hypotheses": hypotheses,
                "bounds": bounds,
                "ln": ln,
                "note": note,
            },
        )

    def resting_on(self, hypotheses: tuple[Hypothesis, ...]) -> Bound:
        """The same number, with these hypotheses in place of its own."""
        return fast_replace(self, hypotheses=hypotheses)

    def entry(self, place: int) -> Bound:
        """The bound at one entry, where it is one of arrays."""

        def one(value: Any) -> Any:
            return value.flat[place].item() if several(value) else value

        return replace(
            self,
            value=one(self.value),
            terms={name: one(term) for name, term in self.terms.items()},
            clipped=one(self.clipped),
            trivial=one(self.trivial),
            ln=one(self.ln),
        )

    @property
    def applies(self) -> bool:
        """Nothing fails, and nothing is open that an input could have stated."""
        return not any(hypothesis.blocks for hypothesis in self.hypotheses)

    @property
    def log10(self) -> float | None:
        """Decimal logarithm; None for values that have none (negative ones), -inf for zero."""
        if self.ln is not None:
            return self.ln / _LN10
        if self.value > 0:
            return math.log10(self.value)
        return -math.inf if self.value == 0 else None

    @property
    def overflowed(self) -> bool:
        """The value is finite but too large for a float; only its logarithm is known."""
        return math.isinf(self.value) and self.ln is not None and math.isfinite(self.ln)

    @property
    def vacuous(self) -> bool | None:
        """Whether the bound says no more than the trivial value; None where no trivial value is known."""
        return None if self.trivial is None else self.value >= self.trivial

    def above(self, bounds: Quantity) -> bool:
        """Whether the value is meant to stand above what it bounds: `bounds`, or the quantity of its own."""
        return (self.bounds or bounds).direction is not Direction.LOWER

    def text(self, bounds: Quantity, digits: int = 5) -> str:
        """The value in print, rounded outward; beyond the range of floats, its decimal logarithm."""
        above = self.above(bounds)
        if self.overflowed and self.log10 is not None:
            return rounding.power_of_ten(self.log10, up=above)
        value = rounding.outward(self.value, digits, up=above)
        return str(int(value)) if abs(value) < 1e6 and value == int(value) else f"{value:.{digits}g}"

    def as_json(self) -> dict[str, Any]:
        """The bound as JSON: an infinite value is "inf", one too large for a float is null with its log10."""
        document: dict[str, Any] = {
            "value": None if self.overflowed else json_number(self.value),
            "log10": None if self.log10 is None else json_number(self.log10),
            "trivial": None if self.trivial is None else json_number(self.trivial),
            "applies": self.applies,
            "clipped": self.clipped,
            "terms": {name: json_number(term) for name, term in self.terms.items()},
            "terms_are": "summands" if self.additive else "factors",
            "hypotheses": [hypothesis.as_json() for hypothesis in self.hypotheses],
        }
        if self.bounds is not None:
            document["bounds"] = self.bounds.value
        if self.note:
            document["note"] = self.note
        return document


def _checked(value: Any, terms: Mapping[str, Any], additive: bool, clipped: Any) -> Mapping[str, Any]:
    """The terms as they will be kept; refused where something is nan, or where summands do not add up."""
    parts = terms.values()
    if several(value) or any(map(several, parts)):
        _check_entries(value, terms, additive, clipped)
    elif math.isnan(value) or any(map(math.isnan, parts)):
        raise ArithmeticError(f"a bound must not be nan: {value}, terms {dict(terms)}")
    elif additive and not clipped and math.isfinite(value):
        total = math.fsum(parts)
        if not math.isclose(total, value, rel_tol=1e-9, abs_tol=1e-300):
            raise ArithmeticError(f"terms add up to {total}, not to the value {value}")
    return MappingProxyType(dict(terms))


def _check_entries(value: Any, terms: Mapping[str, Any], additive: bool, clipped: Any) -> None:
    import numpy as np

    parts = list(terms.values())
    if any(np.any(np.isnan(one)) for one in (value, *parts)):
        raise ArithmeticError(f"a bound must not be nan: {value}, terms {dict(terms)}")
    if additive:
        total = sum(parts)
        wrong = np.abs(total - value) > 1e-9 * np.abs(value) + 1e-300
        if np.any(wrong & np.isfinite(value) & np.logical_not(clipped)):
            raise ArithmeticError(f"terms add up to {total}, not to the value {value}")


def json_number(value: float) -> float | str:
    """JSON has no infinity: it becomes the string "inf" or "-inf"."""
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def upper_bound(
    value: float,
    *,
    clip: float | None = None,
    terms: Mapping[str, float] | None = None,
    additive: bool = False,
    hypotheses: tuple[Hypothesis, ...] = (),
    bounds: Quantity | None = None,
    ln: float | None = None,
    trivial: float | None = None,
    note: str = "",
) -> Bound:
    """A sound upper bound: rounded up, then clipped at `clip`, the value that holds without any theorem.

    Pass `ln`, the natural logarithm of the value, where the value may overflow; `value` may then be inf.
    """
    if ln is not None and math.isinf(value) and math.isfinite(ln):
        ln = rounding.up(ln)
        value = math.exp(ln) if ln < 709.0 else math.inf
    if type(value) is float and ln is None and value > -math.inf:
        rounded = value + abs(value) * rounding.MARGIN  # `rounding.up`, which sweeps call very often
    else:
        rounded = raised(value) if several(value) else rounding.up(value, ln)
    clipped = False
    if clip is not None:
        clipped = rounded > clip
        if several(clipped):
            rounded, ln = least(rounded, clip), None
        elif clipped:
            rounded, ln = clip, None
    return Bound(
        rounded,
        terms or _NOTHING,
        additive,
        clipped,
        trivial if trivial is not None else clip,
        hypotheses,
        bounds,
        ln,
        note,
    )


def lower_bound(
    value: float,
    *,
    clip: float | None = None,
    terms: Mapping[str, float] | None = None,
    hypotheses: tuple[Hypothesis, ...] = (),
    bounds: Quantity | None = None,
    note: str = "",
) -> Bound:
    """A sound lower bound (a margin): rounded down, raised to `clip` where that holds without any theorem."""
    rounded = rounding.down(value)
    clipped = clip is not None and rounded < clip
    return Bound(
        clip if clipped and clip is not None else rounded,
        terms=terms or _NOTHING,
        clipped=clipped,
        trivial=clip,
        hypotheses=hypotheses,
        bounds=bounds,
        note=note,
    )


def printed_value(
    value: float,
    *,
    hypotheses: tuple[Hypothesis, ...] = (),
    terms: Mapping[str, float] | None = None,
    bounds: Quantity | None = None,
    ln: float | None = None,
    note: str = "",
) -> Bound:
    """A number exactly as the paper's formula gives it: neither rounded nor clipped, whatever it is worth."""
    return Bound(value, terms or _NOTHING, False, False, None, hypotheses, bounds, ln, note)


def side_number(value: float, note: str = "") -> Bound:
    """A by-product (a constant, an optimal scale) that is reported but bounds nothing by itself."""
    return Bound(value, bounds=Quantity.CONSTANT, note=note)
