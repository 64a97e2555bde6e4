r"""Log covering numbers as functions of x = ln(radius/eps) > 0, written down so that equal ones are equal.

An entropy is any callable x -> ln N. Those here are records: two weights with the same cover compare equal, which lets
the allocation group them, and those with a closed form (`Volume`, `Power`) let it minimise exactly. They are functions
of arrays too (`sizes`): never below the value at a single number, and above it by rounding only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from certiformer.theory.core.lazy import Array, np
from certiformer.theory.core.rounding import MARGIN, ceil_up, up

_SUM_LIMIT = 2_000
# mutants: same-for-every-value
_STIRLING = 24  # from so many terms on Stirling's series replaces the sum
# mutants: same-for-every-value
_LARGEST_DRAWS = 10**300  # beyond that a count no longer fits a float

Entropy = Callable[[float], float]

LARGE_LOG = 300.0
"""Beyond exp(300) a square overflows; logarithms take over."""

LN_TWO = math.log(2.0)


def sizes(entropy: Entropy, x: Array) -> Array:
    """ln N at many x > 0 at once; one by one where the entropy knows only single numbers."""
    on = getattr(entropy, "on", None)
    if on is not None:
        return np.asarray(on(x), dtype=np.float64)
    return np.array([entropy(float(one)) for one in x.ravel()], dtype=np.float64).reshape(x.shape)


@dataclass(frozen=True, slots=True)
class Volume:
    """P ln(1 + exp(x + ln_factor)), ln_factor = ln 2 for a ball covered in its own norm."""

    parameters: float
    ln_factor: float = LN_TWO

    def __call__(self, x: float) -> float:
        return self.parameters * ln_one_plus_exp(self.ln_factor + x)

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        return raised(self.parameters * np.logaddexp(0.0, self.ln_factor + x))


@dataclass(frozen=True, slots=True)
class Power:
    """c exp(2x) = c (radius/eps)^2."""

    coefficient: float

    def __call__(self, x: float) -> float:
        return self.coefficient * exp(2.0 * x)

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        # mutants: ends-of-the-floats
        return raised(self.coefficient * np.exp(np.where(2.0 * x < 709.0, 2.0 * x, np.inf)))


@dataclass(frozen=True, slots=True)
class Constant:
    """The same number at every radius."""

    value: float

    def __call__(self, x: float) -> float:
        return self.value

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        return np.full(x.shape, self.value)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number of copies of one entropy: m phi(x)."""

    copies: float
    of: Entropy

    def __call__(self, x: float) -> float:
        return self.copies * self.of(x)

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        return self.copies * sizes(self.of, x)


@dataclass(frozen=True, slots=True)
class Shifted:
    """phi(x + shift): the same cover at a radius exp(shift) times smaller."""

    shift: float
    of: Entropy

    def __call__(self, x: float) -> float:
        return self.of(x + self.shift)

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        return sizes(self.of, x + self.shift)


@dataclass(frozen=True, slots=True)
class Added:
    """The sum of several entropies at one x."""

    parts: tuple[Entropy, ...]

    def __call__(self, x: float) -> float:
        return math.fsum(part(x) for part in self.parts)

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        return raised(np.sum([sizes(part, x) for part in self.parts], axis=0))


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest of several covers of one class: min of phi_i(x + shift_i), nothing where x + shift_i <= 0.

    Those that are quick to compute stand first: they may spare the others.
    """

    parts: tuple[tuple[Entropy, float], ...]

    def __call__(self, x: float) -> float:
        best = math.inf
        for part, shift in self.parts:
            if x + shift <= 0.0:
                return 0.0
            if isinstance(part, Multisets) and part.at_least(x + shift) >= best:
                continue
            best = min(best, part(x + shift))
        return best

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        best = np.full(x.shape, np.inf)
        for part, shift in self.parts:
            if shift < 0.0:  # mutants: nobody-looks
                # mutants: nobody-looks
                found = np.where(x + shift > 0.0, sizes(part, np.maximum(x + shift, 1e-300)), 0.0)
            else:
                found = sizes(part, x + shift)
            best = np.minimum(best, found)
        return best


@dataclass(frozen=True, slots=True)
class Multisets:
    """ln C(2D+K, K) with K = ceil((exp(x) - 1)^2) draws (shrunk) or ceil(exp(2x)) - 1 (plain): Maurey's covers."""

    dimension: int
    shrunk: bool = True

    def __call__(self, x: float) -> float:
        if x > LARGE_LOG:
            return _log_multisets_ln(self.dimension, 2.0 * x)
        draws = ceil_up((math.exp(x) - 1.0) ** 2) if self.shrunk else math.ceil(up(math.exp(2.0 * x))) - 1
        return log_multisets(self.dimension, draws)

    def on(self, x: Array) -> Array:
        """The same at an array of x."""
        return multisets_on(self.dimension, x, shrunk=self.shrunk)

    def at_least(self, x: float) -> float:
        """A quick lower bound: C(n, k) >= (n/k)^k, both ways round."""
        if x > LARGE_LOG:
            return 0.0  # mutants: any-split-is-a-bound
        atoms, root = 2.0 * self.dimension, math.exp(x) - (1.0 if self.shrunk else 0.0)  # mutants: any-split-is-a-bound
        draws = max(root * root - (0.0 if self.shrunk else 1.0), 0.0)  # mutants: any-split-is-a-bound
        fewer = draws * math.log1p(atoms / draws) if draws > 0.0 else 0.0  # mutants: any-split-is-a-bound
        return max(fewer, atoms * math.log1p(draws / atoms)) * (1.0 - 1e-9)  # mutants: any-split-is-a-bound

    def steps(self) -> Iterator[float]:
        """The largest x of many steps: the finest radius for the same number of draws."""
        draws = 1  # mutants: any-split-is-a-bound
        while draws < 10**6:  # mutants: any-split-is-a-bound
            # mutants: any-split-is-a-bound
            x = math.log1p(math.sqrt(draws)) if self.shrunk else 0.5 * math.log(draws + 1.0)
            yield x - 4e-12 * (1.0 + x)  # mutants: any-split-is-a-bound
            draws += max(1, draws // 32)  # mutants: any-split-is-a-bound


def log_multisets(dimension: int, draws: int) -> float:
    r"""ln C(2D+K, K), the number of multisets of at most K out of 2D signed atoms, bounded above.

    A difference of log-gammas cancels catastrophically for large K (and turns negative); a sum of positive terms does
    not. Beyond its reach the entropy bound K ln(1+2D/K) + 2D ln(1+K/2D) takes over, and K ln(2D+1) always holds.
    """
    if draws <= 0:
        return 0.0
    if draws > _LARGEST_DRAWS:
        return _log_multisets_ln(dimension, math.log(draws))
    atoms = 2 * dimension
    small, large = min(atoms, draws), max(atoms, draws)
    if small <= _SUM_LIMIT:
        value = float(np.sum(np.log1p(large / np.arange(1.0, small + 1.0))))
    else:
        value = draws * math.log1p(atoms / draws) + atoms * math.log1p(draws / atoms)
    return min(up(value), draws * math.log(atoms + 1.0))


def multisets_on(dimension: Array | float, x: Array, *, shrunk: bool) -> Array:
    """`Multisets` on an array of x, of one dimension or of as many as x has rows (a column of them).

    Whole numbers of draws; the same rounding as at a single number, with a little more of it.
    """
    atoms = 2.0 * np.asarray(dimension, np.float64)
    near = np.minimum(x, LARGE_LOG)
    if shrunk:
        draws = np.ceil((np.exp(near) - 1.0) ** 2 * (1.0 + 2.0 * MARGIN))  # mutants: rounding-margins
    else:
        draws = np.ceil(np.exp(2.0 * near) * (1.0 + 2.0 * MARGIN)) - 1.0  # mutants: rounding-margins
    found = _log_multisets_on(atoms, draws)
    if not (x > LARGE_LOG).any():
        return found
    far = atoms + atoms * np.logaddexp(0.0, 2.0 * x - np.log(atoms))
    return np.where(x > LARGE_LOG, far * (1.0 + 2.0 * MARGIN), found)  # mutants: rounding-margins


def _log_multisets_on(atoms: Array, draws: Array) -> Array:
    r"""`log_multisets` on an array of whole numbers, never below it.

    m! = sqrt(2 pi m) (m/e)^m e^{c(m)} with 1/12m - 1/360m^3 < c(m) < 1/12m - 1/360m^3 + 1/1260m^5 (Stirling's series
    alternates), for m = 2D, K and 2D + K: no sum is needed once both 2D and K are large.
    """
    counts = np.maximum(draws, 1.0)  # mutants: nobody-looks
    small, large = np.minimum(atoms, counts), np.maximum(atoms, counts)
    ln_less, ln_more = np.log1p(small / large), np.log1p(large / small)
    value = large * ln_less + small * ln_more
    few = small < _STIRLING
    if not few.all():
        # Beyond `_SUM_LIMIT` a single number gives up the half logarithm; so does this.
        total = atoms + counts
        square = total * total
        half = 0.5 * (ln_less - np.log(2.0 * math.pi * small))
        # mutants: too-small-to-count
        series = _stirling(total) + 1.0 / (1260.0 * total * square * square) - _stirling(atoms) - _stirling(counts)
        value = np.where(small <= _SUM_LIMIT, value + half + series, value)
    if few.any():
        fewest = small[few][:, None]
        terms = np.arange(1.0, fewest.max() + 1.0)  # mutants: nobody-looks
        rows = np.log1p(large[few][:, None] / terms) * (terms <= fewest)
        value[few] = rows.sum(axis=-1)
    # mutants: rounding-margins
    return np.where(draws > 0.0, np.minimum(value * (1.0 + 4.0 * MARGIN), counts * np.log(atoms + 1.0)), 0.0)


def _stirling(m: Array | float) -> Array | float:
    """1/12m - 1/360m^3."""
    return (1.0 - 1.0 / (30.0 * m * m)) / (12.0 * m)


def raised(value: Array) -> Array:
    """A little above what is computed: vector and scalar functions of one library may differ in the last digit."""
    return value * (1.0 + MARGIN / 4.0)  # mutants: rounding-margins


def _log_multisets_ln(dimension: int, ln_draws: float) -> float:
    """The entropy bound for exp(ln_draws) draws, too many for a float: K ln(1+2D/K) <= 2D."""
    atoms = 2.0 * dimension
    ln_ratio = ln_draws - math.log(atoms)
    return up(atoms + atoms * ln_one_plus_exp(ln_ratio))


def ln_one_plus_exp(x: float) -> float:
    """ln(1 + e^x) without overflow."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))  # mutants: same-for-every-value


def exp(x: float) -> float:
    """e^x; inf when it does not fit a float."""
    return math.exp(x) if x < 709.0 else math.inf


def log(x: float) -> float:
    """The natural logarithm; -inf at zero."""
    return math.log(x) if x > 0.0 else -math.inf
