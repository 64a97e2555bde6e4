"""What the certificates of a network in coordinates share: inputs of the bound, and a grid of scales with prices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from certiformer.certificates._evidence import CertificateBound, Evidence, scaled
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core import Variants, count, real, reals, side_number, upper_bound
from certiformer.theory.core.errors import InputError


class InCoordinates(CertificateBound):
    """A network in few coordinates.

    Assumes:
    - radii, margins, architecture and coordinates are on grids fixed before the data; their price is in `paid`
    - the n examples are independent; the coordinates may have been trained on them in any way
    """

    monotone = "+errors -delta +paid +other"
    proof = "docs/proofs/coordinate-covers.md"

    errors: int = count("examples counted: margin at most gamma, or wrong nearby", low=0, example=20, aliases=("k",))
    n: int = count("examples, all of them", example=10_000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    paid: float = real(
        "price of grids of margins, radii, architectures (nats)", low_open=False, default=0.0, example=3.0
    )
    other: float = real("nats of further coordinates, not of this form", low_open=False, default=0.0, example=0.0)

    def certified(self, nats: float) -> Variants:
        """U(errors, n, delta exp(-nats - other - paid))."""
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}")
        value = binomial_upper(self.errors, self.n, math.log(self.delta) - nats - self.other - self.paid)
        terms = {
            "observed": self.errors / self.n,
            "cover (nats)": nats + self.other,
            "paid for grids (nats)": self.paid,
        }
        return {
            "value": upper_bound(value, clip=1.0, terms=terms),
            "nats": side_number(nats + self.other, "the logarithm of the cover, or of one over the mass"),
        }


SLOPES = "the slopes hold on every input of the domain, not only on the sample (several classes: of the margin)"
TWICE = "errors counts every example that some parameter within *twice* the radii gets wrong"
"""Hypotheses that a network with proved constants settles, in the words of the results."""


class SumForm(InCoordinates):
    """A network whose change is bounded coordinate by coordinate.

    Assumes:
    - the slopes hold on every input of the domain, not only on the sample (several classes: of the margin)
    """

    L: tuple[float, ...] = reals(
        "slopes: |f_z - f_z'| <= sum_j L_j |z_j - z_j'|", low_open=False, example=(1.0, 2.0, 0.5)
    )
    R: tuple[float, ...] = reals("radii: |z_j| <= R_j", low_open=False, example=(1.003, 0.503, 4.003))
    gamma: float = real("margin, fixed beforehand or on a grid paid for", example=0.1)


@dataclass(frozen=True)
class Scale:
    """One cell of the paid grid: examples counted, nats of the cover or of the mass, its price, its margin."""

    errors: int
    nats: float
    paid: float
    margin: float


@dataclass(frozen=True, kw_only=True)
class CoverEvidence(Evidence):
    """The cells of a grid fixed beforehand; the best of them may be reported, for each pays its own price."""

    examples = "examples it was trained on"
    weight = 2.0
    cost = "covering number"
    absent = (
        "it needs a network in few coordinates with known slopes; certify(train=..., by=[CoordinateCover()]) trains one"
    )
    no_coordinates: ClassVar[Mapping[str, Any]] = {"L": (0.0,), "R": (0.0,), "gamma": 1.0}
    """The result without coordinates of its own form: the nats of the network come as `other`."""

    written: ClassVar[Mapping[str, str]] = {name: name for name in ("errors", "nats", "paid", "margin")}
    """What a report calls the figures of a cell."""

    n: int
    scales: tuple[Scale, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scales:
            raise InputError("scales", self.scales, "at least one cell of the grid")

    def best(self, delta: float) -> Scale:
        """The cell with the smallest limit at this part of delta."""

        def limit(scale: Scale) -> float:
            return binomial_upper(scale.errors, self.n, math.log(delta) - scale.nats - scale.paid)

        return min(self.scales, key=limit)

    def inputs(self, delta: float) -> dict[str, Any]:
        scale = self.best(delta)
        counted = {"errors": scale.errors, "n": self.n, "delta": delta, "other": scale.nats, "paid": scale.paid}
        return {**self.no_coordinates, **counted}

    def grown(self, factor: float) -> Self:
        scales = tuple(replace(scale, errors=scaled(scale.errors, factor)) for scale in self.scales)
        return replace(self, n=scaled(self.n, factor), scales=scales)

    def terms(self, delta: float) -> dict[str, float]:
        return {"margin or radius": self.best(delta).margin}

    def record(self) -> dict[str, Any]:
        cells = [{name: getattr(scale, own) for own, name in self.written.items()} for scale in self.scales]
        return {**super().record(), "scales": cells}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self | None:
        cells = ({own: cell[name] for own, name in cls.written.items()} for cell in record["scales"])
        return cls(**{**record, "scales": tuple(Scale(**cell) for cell in cells)})


def frontier(scales: Iterable[Scale]) -> tuple[Scale, ...]:
    """The cells that are best at some delta: for each number of errors the cheapest, if no smaller one is cheaper."""
    found: list[Scale] = []
    for scale in sorted(scales, key=lambda each: (each.errors, each.nats + each.paid)):
        if not found or scale.nats + scale.paid < found[-1].nats + found[-1].paid:
            found.append(scale)
    return tuple(found)
