"""What a binding says: the inputs of a result for this model and sample, or the reason why there are none.

**Radii.** A bound for a class of fixed radii holds for the radii read off the trained weights after they are rounded
up to a grid and the union over the grid is paid for (`calculus/strata`). Sizes of tokens are no property of the class;
they are on the same paid grid because of this argument: replace the loss by its maximum on inputs beyond the radius.
That loss is larger, still in [0, 1], its complexity is that of the class on inputs within the radius, and on the
sample, where nothing lies beyond, it is the loss itself. So no bound on the domain is assumed anywhere.

**Loss.** The ramp loss at margin g lies in [0, 1], dominates the 0-1 loss and is 1/g-Lipschitz in the margin; g is on
a paid grid too. For K logits the margin f_y - max f_j is sqrt 2-Lipschitz in l2, and Maurer's vector contraction gives
2 K/g times the complexity of the worst logit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certiformer.theory.calculus import strata
from certiformer.theory.core import Bound, Hypothesis, verified
from certiformer.theory.measure.example_losses import ramp, ramp_margin
from certiformer.theory.measure.profile import Profile


@dataclass
class Radii:
    """Rounds measured sizes up to the paid grid and keeps the account; sizes `as_measured` stay as they are."""

    as_measured: bool = False
    indices: dict[str, int] = field(default_factory=dict)

    def pay(self, name: str, size: float) -> float:
        """The grid radius above `size`; its price is added once per name."""
        if self.as_measured:
            return size
        self.indices[name] = strata.index(size)
        return strata.radius(self.indices[name])

    @property
    def cost(self) -> float:
        return strata.cost(self.indices.values())

    @property
    def check(self) -> Hypothesis:
        names = ", ".join(self.indices)
        return verified(f"sizes read off weights and sample are rounded up and paid for: {names}", True, self.cost)


@dataclass(frozen=True)
class RampMargin:
    """A margin of the grid, the training ramp loss at it, and its price in nats."""

    margin: float
    loss: float
    paid: float


def paid_margin(profile: Profile) -> RampMargin:
    """The margin of the paid grid for a sample."""
    place, margin = ramp_margin(profile.margins)
    return RampMargin(margin, float(np.mean(ramp(profile.margins, margin))), strata.cost([place]))


@dataclass(frozen=True)
class Application:
    """A result at this model and sample.

    `inputs` are at paid radii, for the sound side; `printed_inputs` as measured, for the printed one. `kind` says how
    the result's number becomes a row: `rademacher` (a bound on the complexity of the class, turned into the gap of the
    ramp loss), `number` (reported as it is). `scale` multiplies the complexity, or the number: the Lipschitz constant
    of the loss. With `takes_delta` the part of delta is an input of the result. `at` gives the inputs at another n.
    """

    inputs: Mapping[str, Any]
    printed_inputs: Mapping[str, Any] | None
    kind: str
    bounds: str
    trivial: float
    paid: float = 0.0
    scale: float = 1.0
    hypotheses: tuple[Hypothesis, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    in_expectation: bool = False
    takes_delta: bool = False
    own_delta: float | None = None
    """A failure probability that is fixed by the run (over its initialisation) and not part of the report's delta."""
    only_printed: str = ""
    """Why the sound side does not apply, where only the printed formula can be evaluated."""
    printed_radius: float | None = None
    """sup |f|, where the printed result is a covering number that Dudley's integral, as printed, has to turn."""
    printed_bound: Bound | None = None
    """The printed number itself, where it is made of printed numbers that are negative here, which no input may be."""
    at: Callable[[float], Mapping[str, Any]] | None = None


Binding = Callable[[Profile], Application | str]


def of_complexity(
    profile: Profile, inputs: Callable[[Radii], Mapping[str, Any]], *, printed: bool = True
) -> Application:
    """An application whose result bounds the Rademacher complexity of a scalar output, at the inputs by their radii."""
    chosen, radii = paid_margin(profile), Radii()
    paid = inputs(radii)
    return Application(
        paid,
        inputs(Radii(as_measured=True)) if printed else None,
        "rademacher",
        "gap",
        1.0,
        paid=radii.cost + chosen.paid,
        scale=1.0 / chosen.margin,
        hypotheses=(
            radii.check,
            verified("the loss is the ramp loss at a paid margin, in [0, 1] and at least the 0-1 loss", True),
        ),
        terms={"margin": chosen.margin, "ramp loss on the training sample": chosen.loss},
    )
