"""V for a ratio of sums: total bits over total bytes of one pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.certificates._evidence import LossBound
from certiformer.certificates._law import Law, Random, Trial
from certiformer.certificates.progressive_loss import LENGTH, ProgressiveLoss, checked, hypotheses
from certiformer.theory.calculus.log_form import ratio_upper
from certiformer.theory.core import Variants, assumed, count, real, reals, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np


class ProgressiveRatioBound(LossBound):
    r"""Progressive validation of a ratio (total bits over total bytes).

    What compressors report: long documents weigh more than in the mean over documents. theta, the ratio over the last
    quarter of the skipped examples, is known before the others begin. U bounds the mean of size (loss - theta) at
    0.9 delta, L is a lower limit for the mean size at 0.1 delta, both by the log form.

    Sound: sum of expected totals / sum of expected sizes <= theta + max(U, 0)/L
    .. math:: \rho\le\theta+\max(U,0)/L
    Because: bits per byte as compressors count them
    Assumes:
    - losses in [low, high] and sizes up to `largest`, declared beforehand
    - independent examples (documents), not tokens of one text
    """

    id = "progressive.ratio"
    place = "certificate V for a ratio"
    proof = "docs/proofs/certificates.md"

    losses: tuple[float, ...] = reals(
        "losses of the pass per unit of size, in its order",
        low=-math.inf,
        low_open=False,
        example=(0.2, 0.1, 0.3, 0.25, 0.15, 0.2, 0.05, 0.4, 0.2, 0.1, 0.3, 0.2),
    )
    sizes: tuple[float, ...] = reals(
        "sizes of the examples (bytes of the documents)",
        example=(9.0, 7.0, 8.0, 9.0, 6.0, 8.0, 9.0, 7.0, 8.0, 9.0, 8.0, 7.0),
    )
    largest: float = real("the largest possible size, declared beforehand", example=10.0)
    skip: int = count("examples at the start that are left out, a number fixed beforehand", example=4, default=1)

    def sound(self) -> Variants:
        losses = checked(self.losses, self.low, self.high, self.skip)
        sizes = np.asarray(self.sizes, np.float64)
        if len(sizes) != len(losses):
            raise InputError("sizes", len(sizes), f"one for each of {len(losses)} losses")
        if np.any(sizes > self.largest):
            raise InputError("sizes", float(sizes.max()), f"at most largest = {self.largest:g}")
        value, parts = ratio_upper(losses, sizes, (self.low, self.high), self.largest, -math.log(self.delta), self.skip)
        late = slice(self.skip, None)
        observed = float(np.average(losses[late], weights=sizes[late]))
        more = (assumed(f"no example is larger than {self.largest:g}, not only those seen here"),)
        return {
            "value": upper_bound(
                value * (1.0 + 1e-12) if value > 0 else value,
                clip=self.high,
                hypotheses=(*hypotheses(self.low, self.high, self.skip), *more),
                terms={"observed": observed, **parts},
            )
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgressiveRatio(ProgressiveLoss):
    """The losses of `ProgressiveLoss` with the sizes of the examples, none above `largest`."""

    bound = ProgressiveRatioBound
    bounds = "ratio_of_iterates"
    measures = "total loss over total size, averaged over one training pass"
    weight = 1.0
    guarantee = (
        "Guarantees the expected total loss of the iterates of one training pass over the expected total size of the "
        "examples, so that long ones weigh more: what compressors report. It is about the iterates that scored the "
        "examples counted, not about the last one, averaged weights, or single documents."
    )
    absent = "it needs progressive_losses with progressive_bytes, progressive_cut and progressive_skip"

    sizes: Array
    largest: float

    @property
    def quantity(self) -> str:
        total = "bits over total bytes" if self.what == "bits per byte" else f"{self.what} over total size"
        return f"total {total} of new {self.of}, averaged over one training pass"

    def seen(self) -> str:
        late = slice(self.skip, None)
        ratio = float(np.average(self.losses[late], weights=self.sizes[late]))
        return f"a total of {ratio:.4g} over {self.size:,} {self.of} scored before they were learnt"

    def record(self) -> dict[str, Any]:
        return {**super().record(), "sizes": float(np.sum(self.sizes))}

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "long examples are harder": Law(harder),
            "examples scored after they were learnt": Law(scored_late, valid=False),
        }


def _drawn(losses: Array, sizes: Array) -> ProgressiveRatio:
    return ProgressiveRatio(losses=losses, sizes=sizes, largest=100.0, skip=LENGTH // 3)


def harder(random: Random) -> Trial:
    """Sizes 10 and 100, equally often; long ones have twice the loss, and the learner improves."""
    sizes = np.where(random.random(LENGTH) < 0.5, 10.0, 100.0)
    level = 0.1 + 0.1 / np.sqrt(1 + np.arange(LENGTH))
    losses = (random.random(LENGTH) < level * np.where(sizes > 50, 2.0, 1.0)).astype(np.float64)
    truth = float(np.mean(level[LENGTH // 3 :])) * (0.5 * 10 + 0.5 * 100 * 2) / 55
    return Trial(_drawn(losses, sizes), truth)


def scored_late(random: Random) -> Trial:
    """Broken: the model knew the example by heart when it was scored."""
    sizes = np.where(random.random(LENGTH) < 0.5, 10.0, 100.0)
    return Trial(_drawn(0.02 * random.random(LENGTH), sizes), 0.5)
