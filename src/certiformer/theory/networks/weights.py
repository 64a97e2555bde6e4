r"""Weights: a matrix acting as x -> Wx, the norm bounds that define its class, and the covers these bounds pay for.

The class of a weight is the intersection of all its bounds. Bounds on the *distance* to a reference (l1, (1, inf),
rows (2,1), Frobenius, ...) set the price of a cover; bounds on the matrix *itself* (spectral norm, largest row) set
Lipschitz factors and radii. Without a reference the two coincide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from certiformer.theory.calculus import covers
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.entropies import Scaled
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.records import fast_replace
from certiformer.theory.networks.magnitude import ONE, Magnitude, size, total


class Geometry(Enum):
    """How the error D = W - What of a weight is felt by the layer that uses it."""

    OPERATOR = "||D x||_2 at the inputs x"
    ROWS = "max over rows s of |D_s x| at the inputs x"
    LOOKUP = "max over rows s of ||D_s||_2: the rows themselves are the outputs"


@dataclass(frozen=True, slots=True)
class Reference:
    """Norms of a fixed matrix W_ref (initial or pre-trained, independent of the sample): the centre of a class."""

    spectral: float
    max_row: float = math.inf
    blocks: tuple[float, ...] = ()


_NORMS = (
    "l1",
    "one_inf",
    "rows_two_one",
    "frobenius",
    "spectral",
    "max_row",
    "spectral_distance",
    "max_row_distance",
)


@dataclass(frozen=True, slots=True)
class Weight:
    """A k x d matrix and its class. A bias, gain or token is k x 1, a scalar readout 1 x d, a table one row per entry.

    Distances to the reference (to 0 if there is none):
    `l1` entrywise, `one_inf` largest column l1 norm, `rows_two_one` sum of row l2 norms, `frobenius`,
    `spectral_distance`, `max_row_distance` (largest row l2 norm; for a k x 1 weight the sup norm).
    Norms of the matrix itself: `spectral`, `max_row`, `blocks` (spectral norms of its column blocks, one per head).
    `rank` bounds the rank of the distance to the reference (of the matrix itself without one): LoRA around W_ref.
    `copies`: the record stands for so many independent matrices of one class whose outputs are added; write their sum
    as `scale(z, copies)`. Each of them has its share of the sensitivity.
    `alternatives`: so many independent matrices of one class, of which the layer feels the worst error (experts behind
    a router): one radius for all, sizes multiply.
    `proper_only` refuses external covers even where the analysis would take them.
    `cover`: a cover of the class at inputs of norm one that somebody else has proved; it is used and no other, so the
    shape need not be that of the matrix (1 x 1 where it is unknown). With the bounds it is the class it covers.
    """

    name: str
    shape: tuple[int, int]
    l1: float = math.inf
    one_inf: float = math.inf
    rows_two_one: float = math.inf
    frobenius: float = math.inf
    spectral: float = math.inf
    max_row: float = math.inf
    spectral_distance: float = math.inf
    max_row_distance: float = math.inf
    blocks: tuple[float, ...] = ()
    reference: Reference | None = None
    rank: int | None = None
    copies: int = 1
    alternatives: int = 1
    proper_only: bool = False
    cover: Cover | None = None

    def __post_init__(self) -> None:
        if min(self.shape) < 1:
            raise InputError(f"shape of {self.name}", self.shape, "two counts, at least 1 each")
        for norm in _NORMS:
            if not isinstance(getattr(self, norm), (int, float)) or not getattr(self, norm) >= 0.0:
                raise InputError(f"{norm} of {self.name}", getattr(self, norm), "a norm, at least 0")
        for count in ("copies", "alternatives", "rank"):
            number = getattr(self, count)
            if number is not None and (not isinstance(number, int) or number < 1):
                raise InputError(f"{count} of {self.name}", number, "a count, at least 1")
        if math.isinf(self.frobenius_radius):
            raise InputError(
                f"bounds of {self.name}", "none", "at least one norm bound", "Give l1, frobenius, spectral, ..."
            )

    def expect(self, rows: int | None, columns: int | None) -> None:
        """A clear error when the weight does not fit the signals it reads (`columns`) and writes (`rows`)."""
        wanted = (self.shape[0] if rows is None else rows, self.shape[1] if columns is None else columns)
        if self.shape != wanted:
            raise InputError(f"shape of {self.name}", self.shape, f"{wanted} (outputs x inputs)")

    @property
    def parameters(self) -> int:
        """Entries of every matrix that the record stands for."""
        return math.prod(self.shape) * self.alternatives * self.copies

    # --- the class, centred at the reference -----------------------------------------------------------------------

    @property
    def _given_spectral(self) -> float:
        centre = 0.0 if self.reference is None else self.reference.spectral
        return min(self.spectral_distance, self.spectral + centre)

    @property
    def _given_row(self) -> float:
        return min(self.max_row_distance, self.max_row + self._reference_row)

    @property
    def _reference_row(self) -> float:
        return 0.0 if self.reference is None else min(self.reference.max_row, self.reference.spectral)

    @property
    def frobenius_radius(self) -> float:
        """The Frobenius distance to the reference, from whichever bound says most."""
        rows, columns = self.shape
        return min(
            self.frobenius,
            self.l1,
            self.rows_two_one,
            math.sqrt(columns) * self.one_inf,
            math.sqrt(rows) * self._given_row,
            math.sqrt(min(rows, columns, self.rank or rows)) * self._given_spectral,
        )

    @property
    def spectral_radius(self) -> float:
        """The spectral distance to the reference."""
        return min(self._given_spectral, self.frobenius_radius)

    @property
    def row_radius(self) -> float:
        """The largest row of the distance to the reference."""
        return min(self._given_row, self.spectral_radius)

    def reach(self, geometry: Geometry) -> Magnitude:
        """How far a member can be from the centre, in the metric in which its error is felt."""
        return size(self.spectral_radius if geometry is Geometry.OPERATOR else self.row_radius)

    # --- the matrix itself -----------------------------------------------------------------------------------------

    @property
    def spectral_norm(self) -> Magnitude:
        """||W||_2 over the class, which is widened to contain its centre: s := max(s, ||W_ref||_2)."""
        centre = 0.0 if self.reference is None else self.reference.spectral
        return size(max(centre, min(self.spectral, centre + self.spectral_radius)))

    @property
    def row_norm(self) -> Magnitude:
        """The largest row l2 norm over the (widened) class; the sup norm of a k x 1 weight."""
        centre = self._reference_row
        return min(self.spectral_norm, size(max(centre, min(self.max_row, centre + self.row_radius))))

    def block_norm(self, block: int, count: int) -> Magnitude:
        """The spectral norm of one of `count` column blocks over the (widened) class."""
        if not self.blocks:
            return self.spectral_norm
        if len(self.blocks) != count:
            raise InputError(f"blocks of {self.name}", len(self.blocks), f"one norm for each of the {count} heads")
        centre = 0.0
        if self.reference is not None:
            centre = self.reference.blocks[block] if self.reference.blocks else self.reference.spectral
        return min(self.spectral_norm, size(max(centre, self.blocks[block])))

    @property
    def keeps_class(self) -> bool:
        """Every cover this weight may get consists of members of its class."""
        if self.cover is not None:
            return self.proper_only or self.cover.proper
        entrywise = math.isinf(self.rows_two_one) and (math.isinf(self.one_inf) or self.only_one_inf)
        return self.proper_only or (entrywise and (self.rank is None or self.rank_closed))

    @property
    def rank_closed(self) -> bool:
        """Nothing but rank, spectral and Frobenius distance defines the class: the low-rank cover stays in it."""
        spectral = math.inf if self.reference is not None else self.spectral
        return self == Weight(
            self.name,
            self.shape,
            frobenius=self.frobenius,
            spectral=spectral,
            spectral_distance=self.spectral_distance,
            reference=self.reference,
            rank=self.rank,
            copies=self.copies,
            alternatives=self.alternatives,
            proper_only=self.proper_only,
        )

    @property
    def only_one_inf(self) -> bool:
        """The class is a (1, inf) ball and nothing less: column-wise Maurey stays in it."""
        return self == Weight(
            self.name,
            self.shape,
            one_inf=self.one_inf,
            reference=self.reference,
            copies=self.copies,
            alternatives=self.alternatives,
            proper_only=self.proper_only,
        )


@dataclass(frozen=True, slots=True)
class Use:
    r"""One place where a weight acts: its error e there moves the output of the layer by at most beta e.

    `radius` and `l1` bound the inputs (hatted ones: the error is taken at the inputs of the covering network).
    `points` counts them: per sample, or altogether if `finite`, when they come from a fixed set (the constant 1 of a
    bias, the one-hot vectors of a table). `derived` marks inputs that the layer itself makes from other weights.
    `sampled` is the radius where covers of the points of a sample are used, if that is larger (keys: only their
    differences count, but a sample consists of the keys themselves).
    `euclidean_discount` is what covers in the l2 metric gain over those in the sup metric (gains).
    """

    weight: Weight
    beta: Magnitude
    radius: Magnitude
    l1: Magnitude
    points: int
    geometry: Geometry = Geometry.OPERATOR
    finite: bool = False
    derived: bool = False
    euclidean_discount: Magnitude = ONE
    sampled: Magnitude | None = None

    @property
    def excess(self) -> Magnitude:
        """How much larger the points of a sample are than `radius`."""
        return ONE if self.sampled is None or self.radius.ln == -math.inf else max(ONE, self.sampled / self.radius)

    @property
    def coefficient(self) -> Magnitude:
        """The sensitivity to the error of the weight at inputs of norm one."""
        return self.beta * self.radius


def weights_of(record: Any) -> tuple[Weight, ...]:
    """The weights among the fields of a record."""
    values = (getattr(record, field.name) for field in fields(record))
    return tuple(value for value in values if isinstance(value, Weight))


def constant_use(
    weight: Weight,
    beta: Magnitude,
    geometry: Geometry = Geometry.OPERATOR,
    *,
    rows: int | None = None,
    euclidean_discount: Magnitude = ONE,
) -> Use:
    """A k x 1 weight reads the constant 1; `rows`: the k that it must have."""
    if rows is not None:
        weight.expect(rows, 1)
    return Use(weight, beta, ONE, ONE, 1, geometry, finite=True, euclidean_discount=euclidean_discount)


def smallest_cover(
    uses: list[Use], *, same_layer: bool, proper: bool, samples: int | None, of_class: Sequence[Cover] | None = None
) -> Cover:
    """The smallest admissible cover of one weight at unit input norm, in a metric that serves all of its uses.

    `samples` allows covers of the points of a sample of that size; None asks for covers of the whole domain.
    Covers that depend on the inputs need these fixed before the weight is: one use, or several on the same inputs.
    `of_class`: the covers that do not depend on them (`class_covers`), if they are known.
    """
    weight = uses[0].weight
    fixed_inputs = len(uses) == 1 or (
        all(use.finite for use in uses) or (same_layer and not any(use.derived for use in uses))
    )
    stay = proper or weight.proper_only
    if weight.cover is not None:
        if not weight.cover.domain and (samples is None or not fixed_inputs):
            raise InputError(
                f"cover of {weight.name}", "of the points of a sample", "one of the whole domain", "Give `samples`"
            )
        return _all_of(weight, weight.cover.made_proper() if stay else weight.cover)
    found = list(class_covers(uses) if of_class is None else of_class)
    geometry = uses[0].geometry
    if fixed_inputs and all(use.geometry is geometry for use in uses):
        found += _for_points(weight, geometry, uses, samples)
    admissible = [cover.made_proper() if stay else cover for cover in found if cover.domain or samples is not None]
    return _all_of(weight, covers.smallest(*admissible))


def class_covers(uses: list[Use]) -> list[Cover]:
    """The covers of one weight at unit input norm that hold whatever the inputs are."""
    weight = uses[0].weight
    rows, columns = weight.shape
    geometries = {use.geometry for use in uses}
    discount = max(use.euclidean_discount for use in uses).value
    # The spectral norm of the error dominates every other geometry; the largest row serves ROWS and LOOKUP.
    radius = weight.spectral_radius if Geometry.OPERATOR in geometries else weight.row_radius
    found = [
        covers.volumetric(radius, rows * columns),
        covers.dual_sudakov(weight.frobenius_radius, rows, columns).scaled(discount),
    ]
    if weight.rank is not None:
        low = covers.low_rank(weight.spectral_radius, rows, columns, min(weight.rank, rows, columns))
        found.append(fast_replace(low, proper=weight.rank_closed))
    if math.isfinite(weight.l1):
        # Averages of atoms stay in convex classes; matrices of bounded rank are none.
        maurey = covers.maurey(weight.l1, rows * columns).scaled(discount)
        found.append(fast_replace(maurey, proper=weight.rank is None))
    if Geometry.LOOKUP not in geometries:
        ratios = (use.l1 / use.radius for use in uses if math.isfinite(use.radius.ln))
        found += _for_l1_inputs(weight, max(ratios, default=ONE))
    return found


def _all_of(weight: Weight, cover: Cover) -> Cover:
    """The cover of every alternative at once, all at the same radius."""
    if weight.alternatives == 1:
        return cover
    number = float(weight.alternatives)
    return fast_replace(
        cover,
        entropy=Scaled(number, cover.entropy),
        rough=None if cover.rough is None else Scaled(number, cover.rough),  # mutants: any-split-is-a-bound
        quadratic=number * cover.quadratic,
        parameters=number * cover.parameters,
    )


def _for_l1_inputs(weight: Weight, ratio: Magnitude) -> list[Cover]:
    """Covers that pay for the l1 norm of the inputs, `ratio` times their l2 norm."""
    rows, columns = weight.shape
    found = []
    if math.isfinite(weight.one_inf):
        cover = covers.columns_one_inf(weight.one_inf, rows, columns)
        found.append(fast_replace(cover.scaled(ratio.value), proper=weight.only_one_inf))
    if math.isfinite(weight.rows_two_one):
        # Inputs of l1 norm one are convex combinations of the d signed unit vectors.
        found.append(covers.rows_two_one(weight.rows_two_one, rows, columns, domain=True).scaled(ratio.value))
    return found


def _for_points(weight: Weight, geometry: Geometry, uses: list[Use], samples: int | None) -> list[Cover]:
    """Covers at finitely many inputs: those of the sample, or the atoms of a finite input set (valid everywhere)."""
    rows, columns = weight.shape
    domain = all(use.finite for use in uses)
    points = sum(use.points for use in uses)
    if not domain:
        if samples is None or any(use.finite for use in uses):
            return []
        points *= samples
    if geometry is Geometry.LOOKUP:
        cover = covers.perceptron_matrix(weight.frobenius_radius, rows, columns)
        return [fast_replace(cover, domain=True, proper=weight.rank is None)]
    if geometry is Geometry.ROWS:
        found = [covers.perceptron_vocabulary(weight.frobenius_radius, points, rows)]
    else:
        found = [covers.perceptron_matrix(weight.frobenius_radius, points, rows)]
    if math.isfinite(weight.rows_two_one):
        found.append(covers.rows_two_one(weight.rows_two_one, rows, points))
    excess = max(use.excess for use in uses).value
    found = [cover.scaled(excess) for cover in found]
    return [fast_replace(cover, domain=domain, proper=cover.proper and weight.rank is None) for cover in found]


def added_coefficient(uses: list[Use]) -> Magnitude:
    """Tied weights: the error at unit input norm is felt at every use, so the sensitivities add up."""
    return total(*(use.coefficient for use in uses))
