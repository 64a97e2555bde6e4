r"""One head of attention pooling on fixed cosine features: a Transformer of a dozen trained numbers.

.. math:: f(x) = \Bigl\langle w, \bigl(\textstyle\sum_t a_t g_t;\ b\bigr)\Bigr\rangle, \qquad
          a = \mathrm{softmax}_t\langle q, \sigma_t\rangle, \qquad |w| = 1

Tokens are the patches of an image, divided by max(|image|, 1). g_t are the lowest cosine modes of the *whole* image,
restricted to patch t; sigma_t are the lowest modes of the patch and of the grid of positions. q and w are trained; with
K > 2 classes w has K rows and |w| is its Frobenius norm. The sign of f does not see |w|, so it is one.

How much f changes with q and w is proved in docs/proofs/coordinate-covers.md: over the whole domain (M, soft cover) and
at one input (local cover). There too: the rounding of float64.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.fft import dctn
from scipy.optimize import minimize

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._covers import CoverEvidence, Scale, frontier
from certiformer.certificates.occam import Occam
from certiformer.theory.calculus import quantised
from certiformer.theory.calculus.attended import attended_upper
from certiformer.theory.calculus.coordinate_covers import ball_cover_nats, ball_nats, cap_nats, sphere_cover_nats
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]

ROUNDING = 1e-9
"""More than float64 can change f by, for at most 16 tokens of 64 entries, 16 modes and |q| <= 64: docs/proofs."""
LONGEST_QUERY = 64.0
BLOCK = 1024
"""Images whose features are computed at a time."""
RADII_W = tuple(math.exp(-0.2 * i) for i in range(5, 50))
RATIOS = tuple(2.0**i for i in range(6))
LENGTHS = tuple(2.0 ** (i / 8) for i in range(48))
GAMMAS = tuple(2.0 ** (-i / 4) for i in range(4, 60))
STEPS = (0.5, 1.0, 2.0, 4.0)
SCALES = tuple(2.0 ** (i / 2) for i in range(-2, 14))


class Pooled(NamedTuple):
    """Values g (n, T, c) and score features sigma (n, T, m + p)."""

    g: Array
    sigma: Array

    def __len__(self) -> int:
        return len(self.g)


@dataclass(frozen=True, eq=False)
class Codeword:
    """A network named by integers: its coordinates, what the code costs item by item, and what it counts wrong."""

    z: Array
    parts: Mapping[str, float]
    errors: int


class Domain(NamedTuple):
    """Suprema over every input: sum_t a_t |g_t|, and sum_t a_t |<w, g_t>| (the largest gap of several classes)."""

    pooled: float
    read: float


@dataclass(frozen=True)
class AttentionPooling:
    """`modes` of the image, `patch_modes` and `positions` in the scores, `constant` beside the pooled values.

    f_z for z in R^D, everything else fixed by these settings before the data; outputs are float64, within `ROUNDING`.
    """

    modes: int = 6
    patch_modes: int = 1
    positions: int = 5
    constant: float = 0.15
    classes: int = 2
    side: int = 4
    patch: int = 8
    starts: int = 4
    search: int = 1500
    name: ClassVar[str] = "attention pooling"
    proof: ClassVar[str] = "proved for attention pooling and counted so: docs/proofs/coordinate-covers.md"
    """Where it is proved how much f changes with z, over the domain and at an example."""

    def __post_init__(self) -> None:
        if not (1 <= self.modes <= 16 and self.side * self.side <= 16 and self.patch <= 8):
            raise InputError(
                "attention pooling",
                asdict(self),
                "at most 16 modes, 16 tokens of 64 pixels",
                "Its rounding is known there",
            )

    # --- the fixed part ---------------------------------------------------------------------------------------------

    @property
    def queries(self) -> int:
        return self.patch_modes + self.positions

    @property
    def rows(self) -> int:
        """Rows of w: one logit for two classes."""
        return 1 if self.classes == 2 else self.classes

    @property
    def readout(self) -> int:
        return self.rows * (self.modes + 1)

    @property
    def coordinates(self) -> int:
        """D."""
        return self.queries + self.readout

    @cached_property
    def values(self) -> Array:
        """B_t/kappa (T, c, patch^2): the image modes by patch, scaled so that no spectral norm is above one."""
        width = self.side * self.patch
        images = cosine_modes(width, self.modes).reshape(-1, self.side, self.patch, self.side, self.patch)
        by_patch = images.transpose(1, 3, 0, 2, 4).reshape(self.side**2, self.modes, self.patch**2)
        return np.asarray(by_patch / up(max(float(np.linalg.norm(block, 2)) for block in by_patch)))

    @cached_property
    def places(self) -> Array:
        """Position modes (T, p): the constant one left out."""
        return cosine_modes(self.side, self.positions + 1)[1:].T

    @property
    def reach(self) -> float:
        """R_s >= |sigma_t - sigma_s| on every input: one non-negative patch mode moves by at most 1, more by 2."""
        apart = np.max(np.sum((self.places[:, None] - self.places) ** 2, axis=2))
        return up(math.sqrt((1.0 if self.patch_modes == 1 else 2.0) + float(apart)))

    @property
    def length(self) -> float:
        """Phi >= |(sum a_t g_t; b)| on every input."""
        return up(math.sqrt(1.0 + self.constant**2))

    def features(self, inputs: npt.ArrayLike) -> Pooled:
        """What z acts on: a fixed map of the inputs, computed once."""
        x = np.asarray(inputs)
        if x.ndim != 3 or x.shape[1] != self.side**2 or x.shape[2] < self.patch**2:
            raise InputError("inputs", f"shape {x.shape}", f"(n, {self.side**2}, {self.patch**2}) patches")
        x = x[:, :, : self.patch**2]
        if np.any(x < 0):
            raise InputError("inputs", "negative pixels", "pixels of at least 0: the bounds over the domain need it")
        own = cosine_modes(self.patch, self.patch_modes).T
        g = np.empty((len(x), self.side**2, self.modes))
        sigma = np.empty((len(x), self.side**2, self.queries))
        sigma[:, :, self.patch_modes :] = self.places
        for start in range(0, len(x), BLOCK):  # in float64 the images of the demo would take ten times the features
            rows = slice(start, start + BLOCK)
            block = np.asarray(x[rows], np.float64)
            block = block / np.maximum(np.sqrt(np.sum(block * block, axis=(1, 2))), 1.0)[:, None, None]
            g[rows] = np.einsum("ntd,tcd->ntc", block, self.values)
            sigma[rows, :, : self.patch_modes] = block @ own
        return Pooled(g, sigma)

    # --- the network ------------------------------------------------------------------------------------------------

    def split(self, z: Array) -> tuple[Array, Array]:
        """q, and w with Frobenius norm one (rows, c + 1)."""
        q, w = z[: self.queries], z[self.queries :].reshape(self.rows, self.modes + 1)
        norm = float(np.linalg.norm(w))
        if float(np.linalg.norm(q)) > LONGEST_QUERY or not norm > 0:
            raise InputError("z", (float(np.linalg.norm(q)), norm), f"|q| at most {LONGEST_QUERY:g} and w not zero")
        return q, w / norm

    def pooled(self, q: npt.NDArray[Any], features: Pooled) -> tuple[Array, Array]:
        """Weights a (n, T) and phi (n, c + 1)."""
        scores = features.sigma @ q
        mass = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        a = mass / np.sum(mass, axis=1, keepdims=True)
        phi = np.einsum("nt,ntc->nc", a, features.g)
        return a, np.hstack([phi, np.full((len(phi), 1), self.constant)])

    def outputs(self, z: Array, features: Pooled) -> Array:
        """f_z, one logit or one per class."""
        q, w = self.split(z)
        found = self.pooled(q, features)[1] @ w.T
        return np.asarray(found[:, 0] if self.rows == 1 else found)

    def _gaps(self, w: Array, labels: Labels) -> Array:
        """The readouts (n, others, c + 1) whose scores all have to be positive: y w, or w_y - w_j for j != y."""
        if self.rows == 1:
            return np.asarray((2.0 * labels - 1.0)[:, None, None] * w)
        others = np.array([[j for j in range(self.classes) if j != y] for y in range(self.classes)])
        return np.asarray(w[labels][:, None] - w[others[labels]])

    @property
    def _spread(self) -> float:
        """A change of w by u in Frobenius norm changes a gap by at most this times u."""
        return 1.0 if self.rows == 1 else up(math.sqrt(2.0))

    def changes(self, z: Array, features: Pooled, labels: Labels) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Per example and rival: gap f, |phi|, G, J, range(beta), R of the change at one input."""
        q, w = self.split(z)
        a, phi = self.pooled(q, features)
        gaps = self._gaps(w, labels)
        beta = np.einsum("ntc,njc->njt", features.g, gaps[:, :, :-1])
        mean = np.einsum("nt,njt->nj", a, beta)
        slope = np.einsum("nt,njt,nts->njs", a, beta - mean[:, :, None], features.sigma)
        apart = np.zeros(len(phi))
        for t in range(features.sigma.shape[1]):
            away = features.sigma - features.sigma[:, t : t + 1]
            apart = np.maximum(apart, np.max(np.sum(away * away, axis=2), axis=1))
        return (
            np.einsum("nc,njc->nj", phi, gaps),
            np.linalg.norm(phi, axis=1)[:, None],
            np.max(np.linalg.norm(features.g, axis=2), axis=1)[:, None],
            np.linalg.norm(slope, axis=2),
            np.ptp(beta, axis=2),
            np.sqrt(apart)[:, None],
        )

    # --- covers -----------------------------------------------------------------------------------------------------

    def scales(self, kind: str, z: Array, features: Pooled, labels: Labels) -> tuple[Scale, ...]:
        """The grid of a cover (`cover.coordinates`, `cover.soft`, `cover.local`): counts, nats, what the cell costs."""
        q, w = self.split(z)
        size = up(float(np.linalg.norm(q)))
        longest = next((length for length in LENGTHS if length >= size), None)
        if longest is None:
            raise InputError("q", size, f"a length of at most {LENGTHS[-1]:g}, the largest of the grid")
        if kind == "cover.coordinates":
            return self._cover(z, features, labels, longest)
        paid = math.log(len(RADII_W) * len(RATIOS) * len(LENGTHS))
        found = []
        if kind == "cover.local":
            f, length, most, slope, spread, reach = self.changes(z, features, labels)
        else:
            gap = np.min(np.einsum("nc,njc->nj", self.pooled(q, features)[1], self._gaps(w, labels)), axis=1)
            domain = self.domain(z)
        for rho_w, ratio in itertools.product(RADII_W, RATIOS):
            rho_q = rho_w * ratio
            if rho_w > 1.0:
                continue
            u, v = 2.0 * rho_w, 2.0 * rho_q
            if kind == "cover.local":
                change = self._spread * u * (length + 2.0 * np.tanh(reach * v / 4.0) * most)
                change = change + slope * v + spread * (reach * v) ** 2 / 8.0
                errors = int(np.sum(np.any(f <= change * (1 + 1e-12) + 4 * ROUNDING, axis=1)))
                margin = float(np.median(change))
            else:
                # A local margin: the change over all inputs within twice the radii, from the constants of this z.
                longest_phi, steepest = self._within(w, domain, v)
                margin = up(self._spread * u * longest_phi + v * steepest)
                errors = int(np.sum(gap <= margin + 4 * ROUNDING))
            nats = up(cap_nats(self.readout, rho_w) + ball_nats(self.queries, longest, rho_q))
            found.append(Scale(errors, nats, paid, margin))
        return frontier(found)

    def domain(self, z: Array) -> Domain:
        """Over every input, at this z: how long the pooled values can be, and how large the pooled |<w, g_t>|.

        One patch mode: certified suprema (`attended_upper`). For more the range of the scores is not known so well, and
        the values that hold for every z are returned.
        """
        q, w = self.split(z)
        sizes = np.array([up(float(np.linalg.norm(block, 2))) for block in self.values])
        reads = np.array([up(float(b)) for b in np.max(np.linalg.norm(self._reads(w), axis=2), axis=1)])
        if self.patch_modes != 1:
            return Domain(float(np.max(sizes)), float(np.max(reads)))
        places = self.places @ q[1:]
        return Domain(*(attended_upper(each, places, float(q[0]), self.patch) for each in (sizes, reads)))

    def remark(self, kind: str, z: Array) -> str:
        """What a reader should know of the cover of this kind at z, in a sentence."""
        if kind != "cover.soft" or self.patch_modes != 1:
            return ""
        found = self.domain(z)
        return (
            f"At these weights, over every input: the pooled values have at most length {found.pooled:.3f} (1 for any "
            f"weights of the class), and the readout sees at most {found.read:.3f} of them: certified suprema."
        )

    def _within(self, w: Array, domain: Domain, v: float) -> tuple[float, float]:
        """Phi and L_q for |dq| <= v: those of every z, or those at this z, whose weights grow by e^{R_s v} at most."""
        growth = math.exp(up(self.reach * v))
        length = up(math.hypot(growth * domain.pooled, self.constant))
        return min(self.length, length), min(self._slope(w), up(self.reach * domain.read * growth))

    def _reads(self, w: Array) -> Array:
        """B_t' w (T, gaps, patch^2) for every gap between rows of w."""
        gaps = w if self.rows == 1 else np.array([x - y for x, y in itertools.permutations(w, 2)])
        return np.asarray(np.einsum("tcd,jc->tjd", self.values, gaps[:, :-1]))

    def _slope(self, w: Array | None) -> float:
        """L_q = R_s b/(2 sqrt 2); b is that of w, or of every w of norm one."""
        if w is None:
            b = self._spread
        else:
            b = float(np.max(np.linalg.norm(self._reads(w), axis=2)))
        return up(self.reach * up(b) / (2.0 * math.sqrt(2.0)))

    def _cover(self, z: Array, features: Pooled, labels: Labels, longest: float) -> tuple[Scale, ...]:
        q, w = self.split(z)
        gap = np.min(np.einsum("nc,njc->nj", self.pooled(q, features)[1], self._gaps(w, labels)), axis=1)
        paid = math.log(len(GAMMAS) * len(LENGTHS))
        share = (self.readout - 1) / (self.readout - 1 + self.queries)
        found = []
        for gamma in GAMMAS:
            half = gamma / 2.0 - 2 * ROUNDING
            if half <= 0:
                continue
            eps_w = min(2.0, half * share / (self._spread * self.length))
            eps_q = half * (1 - share) / self._slope(None)
            nats = up(sphere_cover_nats(self.readout, eps_w) + ball_cover_nats(self.queries, longest, eps_q))
            found.append(Scale(int(np.sum(gap <= gamma)), nats, paid, gamma))
        return frontier(found)

    # --- training ---------------------------------------------------------------------------------------------------

    def fit(self, features: Pooled, labels: Labels, seed: int) -> Array:
        """Logistic loss from several starts, then a ramp on the margins of `cover.local`, which chooses the best."""
        random = np.random.default_rng(seed)
        found = []
        for _ in range(self.starts):
            first = np.concatenate(
                [3.0 * random.standard_normal(self.queries), 0.1 * random.standard_normal(self.readout)]
            )
            found.append(self._ramp(self._logistic(first, features, labels), features, labels))
        return min(found, key=lambda z: self._figure(z, features, labels))

    def _figure(self, z: Array, features: Pooled, labels: Labels) -> float:
        scales = self.scales("cover.local", z, features, labels)
        return min(binomial_upper(s.errors, len(labels), math.log(0.05) - s.nats - s.paid) for s in scales)

    def _logistic(self, first: Array, features: Pooled, labels: Labels) -> Array:
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            g, sigma, y = jnp.asarray(features.g), jnp.asarray(features.sigma), jnp.asarray(labels)

            @jax.jit
            def objective(z: jax.Array) -> tuple[jax.Array, jax.Array]:
                def loss(z: jax.Array) -> jax.Array:
                    q, w = z[: self.queries], z[self.queries :].reshape(self.rows, -1)
                    a = jax.nn.softmax(sigma @ q, axis=1)
                    f = jnp.einsum("nt,ntc->nc", a, g) @ w[:, :-1].T + self.constant * w[:, -1]
                    if self.rows == 1:
                        each = jax.nn.softplus(-(2 * y - 1) * f[:, 0])
                    else:
                        each = jax.nn.logsumexp(f, axis=1) - jnp.take_along_axis(f, y[:, None], axis=1)[:, 0]
                    return jnp.mean(each) + 5e-4 * jnp.sum(q * q)

                return jax.value_and_grad(loss)(z)

            return _minimise(objective, first, 400)

    def _ramp(self, first: Array, features: Pooled, labels: Labels) -> Array:
        """n mean sigmoid((1 - m/rho)/tau) - ... ln rho: errors and nats at their rate of exchange, tau falling."""
        import jax
        import jax.numpy as jnp

        n, nat = len(labels), 0.52
        with jax.enable_x64(True):
            g, sigma, y = jnp.asarray(features.g), jnp.asarray(features.sigma), jnp.asarray(labels)
            others = jnp.asarray([[j for j in range(self.classes) if j != c] for c in range(self.classes)])

            @jax.jit
            def objective(z: jax.Array, tau: jax.Array) -> tuple[jax.Array, jax.Array]:
                def value(z: jax.Array) -> jax.Array:
                    q, w, rho = z[: self.queries], z[self.queries : -1].reshape(self.rows, -1), jnp.exp(z[-1])
                    w = w / jnp.sqrt(jnp.sum(w * w))
                    a = jax.nn.softmax(sigma @ q, axis=1)
                    phi = jnp.einsum("nt,ntc->nc", a, g)
                    gaps = (2.0 * y - 1.0)[:, None, None] * w if self.rows == 1 else w[y][:, None] - w[others[y]]
                    beta = jnp.einsum("ntc,njc->njt", g, gaps[:, :, :-1])
                    f = jnp.einsum("nt,njt->nj", a, beta) + self.constant * gaps[:, :, -1]
                    centred = beta - jnp.einsum("nt,njt->nj", a, beta)[:, :, None]
                    slope = jnp.einsum("nt,njt,nts->njs", a, centred, sigma)
                    slope = jnp.sqrt(jnp.sum(slope**2, axis=2) + 1e-16)
                    size = jnp.sqrt(jnp.sum(phi**2, axis=1) + self.constant**2)[:, None]
                    margin = jnp.min(f / (2.0 * (self._spread * size + 64.0 * slope)), axis=1)
                    wrong = n * jnp.mean(jax.nn.sigmoid((1.0 - margin / rho) / tau))
                    cost = -(self.coordinates - 1) * z[-1] + self.queries * jnp.log(jnp.sqrt(jnp.sum(q * q)) + 0.5)
                    return wrong + nat * cost

                return jax.value_and_grad(value)(z)

            z = np.concatenate([first, [math.log(1e-3)]])
            for tau in (2.0, 1.0, 0.5, 0.25):
                z = _minimise(lambda at, tau=tau: objective(at, tau), z, 150)
        return z[:-1]

    # --- a code -----------------------------------------------------------------------------------------------------

    def codeword(self, z: Array, features: Pooled, labels: Labels, seed: int) -> Codeword:
        """q on a grid of a declared step, w in whole numbers, each with its own scale; search on the certificate."""
        q, w = self.split(z)
        best: tuple[float, Array] | None = None
        for index, step in enumerate(STEPS):
            word = _Search(self, features, labels, step, np.random.default_rng([seed, index]))
            value, queries, weights = word.run(np.rint(q / step).astype(np.int64), w)
            if best is None or value < best[0]:
                best = value, np.concatenate([step * queries, weights.astype(np.float64)])
        assert best is not None
        return self.named(best[1], features, labels)

    def named(self, z: Array, features: Pooled, labels: Labels) -> Codeword:
        """The codeword at whole numbers w and a query on one of the grids: what it costs, and its errors."""
        q, w = z[: self.queries], np.rint(z[self.queries :]).astype(np.int64)
        fitting = [step for step in STEPS if np.array_equal(np.rint(q / step) * step, q)]
        if not fitting or not np.array_equal(w, z[self.queries :]):
            raise InputError("z", z.tolist(), f"whole numbers, and a query in multiples of one of {STEPS}")
        words = [_Search(self, features, labels, step, np.random.default_rng(0)) for step in fitting]
        parts = [
            {
                "query": word.nats(np.rint(q / word.step).astype(np.int64)),
                "readout": word.nats(w),
                "step of the grid": math.log(len(STEPS)),
            }
            for word in words
        ]
        cheapest = min(parts, key=lambda part: sum(part.values()))
        errors = words[0].errors(np.rint(q / words[0].step).astype(np.int64), w)
        return Codeword(z, cheapest, errors)

    def settings(self) -> Mapping[str, Any]:
        """The configuration, as JSON."""
        return asdict(self)

    def predictor(self, z: Array) -> Predictor:
        """The network at z as something that can be handed over."""
        return Pooling(self, z)


class Pooling(Predictor):
    """Attention pooling at given coordinates, in float64."""

    kind: ClassVar[str] = "attention pooling"

    def __init__(self, network: AttentionPooling, z: Array) -> None:
        self.network, self.z = network, np.asarray(z, np.float64)

    def tensors(self) -> Mapping[str, npt.NDArray[Any]]:
        return {"z": self.z}

    def settings(self) -> Mapping[str, Any]:
        return self.network.settings()

    @classmethod
    def restore(cls, tensors: Mapping[str, npt.NDArray[Any]], settings: Mapping[str, Any]) -> Self:
        return cls(AttentionPooling(**settings), tensors["z"])

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        return self.network.outputs(self.z, self.network.features(inputs))

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        features = self.network.features(inputs)
        if isinstance(record, CoverEvidence):
            scales = self.network.scales(record.id, self.z, features, labels)
            return replace(record, n=len(labels), scales=scales)
        if not isinstance(record, Occam):
            raise InputError("predictor", self.kind, "a cover or an Occam row", f"Not {record.id}")
        word = self.network.named(self.z, features, labels)
        parts = dict(word.parts)
        return replace(record, errors=word.errors, n=len(labels), code_length=math.fsum(parts.values()), parts=parts)


class _Search:
    """Moves on the grid that lower the Occam limit at a fixed level."""

    LEVEL = math.log(0.05)

    def __init__(
        self, network: AttentionPooling, features: Pooled, labels: Labels, step: float, random: np.random.Generator
    ) -> None:
        self.network, self.features, self.labels, self.step, self.random = network, features, labels, step, random
        self._cache: dict[bytes, float] = {}
        size = network.readout
        eye = np.eye(size, dtype=np.int64)
        singles = [sign * eye[i] for i in range(size) for sign in (-3, -2, -1, 1, 2, 3)]
        pairs = [a * eye[i] + b * eye[j] for i in range(size) for j in range(i) for a in (-1, 1) for b in (-1, 1)]
        self.moves = np.stack([0 * eye[0], *singles, *pairs])

    def nats(self, points: Integers) -> float:
        key = points.tobytes()
        if key not in self._cache:
            self._cache[key] = quantised.best_scale(points.ravel(), 1.0, SCALES)[0]
        return self._cache[key]

    def limit(self, errors: int, nats: float) -> float:
        return binomial_upper(errors, len(self.labels), self.LEVEL - nats - math.log(len(STEPS)))

    def errors(self, q: Integers, w: Integers) -> int:
        phi = self.network.pooled(self.step * q, self.features)[1]
        return int(self._wrong(phi, w[None])[0])

    def _wrong(self, phi: Array, candidates: Integers) -> npt.NDArray[np.int64]:
        """Errors of many readouts; a tie, and what rounding could make one, is an error."""
        rows = candidates.reshape(len(candidates), self.network.rows, -1).astype(np.float64)
        norms = np.maximum(np.linalg.norm(rows.reshape(len(rows), -1), axis=1), 1.0)
        scores = np.einsum("nc,wkc->wnk", phi, rows / norms[:, None, None])
        if self.network.rows == 1:
            return np.asarray(np.sum((2 * self.labels - 1) * scores[:, :, 0] <= 0, axis=1))
        own = np.take_along_axis(scores, self.labels[None, :, None], axis=2)
        rest = scores.copy()
        np.put_along_axis(rest, self.labels[None, :, None], -np.inf, axis=2)
        return np.asarray(np.sum(own[:, :, 0] <= np.max(rest, axis=2), axis=1))

    def best_readout(self, q: Integers, w: Integers) -> tuple[float, Integers]:
        """Descend among readouts at a fixed query until no move helps."""
        phi = self.network.pooled(self.step * q, self.features)[1]
        fixed = self.nats(q)
        value = math.inf
        while True:
            candidates = w + self.moves
            candidates = candidates[np.any(candidates != 0, axis=1)]
            wrong = self._wrong(phi, candidates)
            nats = np.array([self.nats(point) for point in candidates])
            # 0.52 errors are worth a nat: a shortlist for the exact limit.
            short = np.argsort(wrong + 0.52 * nats, kind="stable")[:4]
            found = min((self.limit(int(wrong[i]), fixed + nats[i]), int(i)) for i in short)
            if found[0] >= value:
                return value, w
            value, w = found[0], candidates[found[1]]

    def run(self, q: Integers, w: Array) -> tuple[float, Integers, Integers]:
        """Round at several resolutions, then random moves of the query, each with a few steps of the readout."""
        starts = [np.rint(size * w.ravel() / np.max(np.abs(w))).astype(np.int64) for size in (4, 8, 12)]
        value, weights = min((self.best_readout(q, start) for start in starts), key=lambda found: found[0])
        for _ in range(self.network.search // len(STEPS)):
            move = np.zeros_like(q)
            chosen = self.random.choice(len(q), size=int(self.random.integers(1, 3)), replace=False)
            move[chosen] = self.random.choice([-2, -1, 1, 2], size=len(chosen))
            if self.step * np.linalg.norm(q + move) > LONGEST_QUERY:
                continue
            phi = self.network.pooled(self.step * (q + move), self.features)[1]
            # A move that no readout nearby can pay for is not followed.
            if (
                self.limit(int(self._wrong(phi, weights[None])[0]), self.nats(q + move) + self.nats(weights))
                > 1.15 * value
            ):
                continue
            found, moved = self.best_readout(q + move, weights)
            if found < value:
                value, q, weights = found, q + move, moved
        return value, q, weights


def cosine_modes(width: int, count: int) -> Array:
    """The `count` lowest two-dimensional cosine modes of a width x width square, orthonormal rows."""
    order = sorted((i + j, max(i, j), i, j) for i in range(width) for j in range(width))[:count]
    found = []
    for _, _, i, j in order:
        unit = np.zeros((width, width))
        unit[i, j] = 1.0
        found.append(dctn(unit, type=3, norm="ortho").ravel())
    return np.stack(found)


def _minimise(objective: Any, first: Array, iterations: int) -> Array:
    def both(z: Array) -> tuple[float, Array]:
        value, slope = objective(z)
        return float(value), np.asarray(slope, np.float64)

    found = minimize(both, first, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    return np.asarray(found.x, np.float64)
