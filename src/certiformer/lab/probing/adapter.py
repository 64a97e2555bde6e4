r"""A frozen encoder with an adapter of a few coordinates, certified on the texts it was trained on (`cover.floors`).

The adapter sits before the last norm N of the encoder. With m_t the token behind the last attention and h_t = m_t +
feed-forward(m_t), both frozen,

.. math:: f(x) = \langle y, U(\tfrac1T\textstyle\sum_t N(h_t + p\,\langle z, Q m_t\rangle) - c)\rangle + y_0

z (which part of a token is written along p before the norm), y and y_0 are trained; p, Q, U and c are frozen: they come
from a few sentences in the settings, embedded by the same encoder. The settings, floors and grids of radii included,
are a file that is written before the certified texts are looked at. Near a constant token N has slope eps^(-1/2); with
the floor tau it is 1/tau, and texts with a token below the floor are counted like margin errors.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from certiformer.certificates._covers import Scale, frontier
from certiformer.certificates.cover_floors import CoverWithFloors
from certiformer.certification.declaration import Repeats
from certiformer.certification.pipeline import Findings, build
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.encoder import Affine, Encoder
from certiformer.lab.probing.embedding import Progress, read, remembered
from certiformer.lab.probing.texts import chosen, read_texts
from certiformer.report.numbers import percent_up
from certiformer.theory import networks
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import Report
from certiformer.theory.core.rounding import up
from certiformer.theory.core.schema import NUMBERS, TEXTS, record, require_shape
from certiformer.theory.core.toml_reader import read_toml
from certiformer.theory.measure.spectral import spectral_norms
from certiformer.theory.networks import Analysis, Reference, Weight

Array = npt.NDArray[np.float64]
SINGLE = 1.0 + 1e-4
"""Frozen tokens are computed in single precision: their bounds are widened by more than its rounding."""


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """Everything that is fixed before the certified texts are read.

    `like` and `unlike`: sentences whose embeddings span the frozen directions; the first direction is the difference of
    the two means. `read`, `readout`: how many coordinates z and y have (y_0 is one more). `floor`: tau. Radii are on
    grids; every cell of the grid has the same share of the error probability, and pays the logarithm of their number.
    """

    tokens: int
    read: int
    readout: int
    floor: float
    margin: float
    read_radii: tuple[float, ...]
    readout_radii: tuple[float, ...]
    like: tuple[str, ...]
    unlike: tuple[str, ...]

    @property
    def coordinates(self) -> int:
        """The trained numbers: read, readout, and the bias."""
        return self.read + self.readout + 1

    @property
    def paid(self) -> float:
        """Nats for the grid of radii."""
        return up(math.log(len(self.read_radii) * len(self.readout_radii)))

    @classmethod
    def of(cls, path: str | Path) -> AdapterSettings:
        """Settings from a TOML file."""
        found = read_toml(path, "adapter")
        shapes = {"int": {"type": "integer"}, "float": {"type": "number"}, "tuple[str, ...]": TEXTS}
        shape = {one.name: shapes.get(str(one.type), NUMBERS) for one in fields(cls)}
        require_shape(found, record(shape), "adapter", f"In {path}")
        values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in found.items()}
        settings = cls(**values)
        sentences = len(settings.like) + len(settings.unlike)
        if not 1 <= max(settings.read, settings.readout) < sentences or min(settings.read, settings.readout) < 1:
            raise InputError("read, readout", (settings.read, settings.readout), f"counts below {sentences} sentences")
        if not settings.read_radii or not settings.readout_radii:
            raise InputError("read_radii, readout_radii", "an empty grid", "at least one radius each", f"In {path}")
        if min(settings.floor, settings.margin, *settings.read_radii, *settings.readout_radii) <= 0.0:
            raise InputError("floor, margin, radii", "not positive", "positive numbers", f"In {path}")
        return settings

    def digest(self) -> str:
        """A hash of the settings: what was fixed beforehand."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the adapter needs of every token, all texts one after the other; `starts` are the first tokens of texts."""

    read: Array
    seen: Array
    squares: Array
    along: Array
    starts: npt.NDArray[np.int64]
    lengths: Array


@dataclass(frozen=True, eq=False)
class Frozen:
    """The directions, and what the last norm does to them."""

    encoder: Encoder
    settings: AdapterSettings
    write: Array
    reading: Array
    seeing: Array
    centre: Array

    @classmethod
    def of(cls, encoder: Encoder, settings: AdapterSettings, ids: Sequence[Sequence[int]]) -> Frozen:
        """Directions from the sentences of the settings, whose tokens are `ids` (first `like`, then `unlike`)."""
        middles = [_middle(encoder, one) for one in ids]
        last = encoder.layers[-1]
        pooled = np.array([last.final_norm(last.summed(one)).mean(axis=0) for one in middles], dtype=np.float64)
        means = np.array([one.mean(axis=0) for one in middles], dtype=np.float64)
        first = len(settings.like)
        seeing = _directions(pooled, first, settings.readout)
        write = seeing[0] - seeing[0].mean()
        return cls(
            encoder,
            settings,
            write / np.linalg.norm(write),
            _directions(means, first, settings.read),
            seeing,
            pooled.mean(axis=0),
        )

    @cached_property
    def gained(self) -> Array:
        """U diag(g), g the gains of the last norm."""
        return np.asarray(self.seeing * self.encoder.layers[-1].final_norm.gain.astype(np.float64))

    @cached_property
    def offset(self) -> Array:
        """U (b - c), b the shift of the last norm."""
        return np.asarray(self.seeing @ (self.encoder.layers[-1].final_norm.shift.astype(np.float64) - self.centre))

    def few_numbers(self, one: Sequence[int]) -> Array:
        """The tokens of a text to what the adapter acts on: columns read and seen, then squares and along."""
        middle = _middle(self.encoder, one)
        h = self.encoder.layers[-1].summed(middle).astype(np.float64)
        h -= h.mean(axis=1, keepdims=True)
        read, seen = middle.astype(np.float64) @ self.reading.T, h @ self.gained.T
        return np.column_stack([read, seen, np.sum(h * h, axis=1), h @ self.write])

    # --- the network -----------------------------------------------------------------------------------------------

    def deviations(self, z: Array, tokens: Statistics) -> Array:
        """s(h_t + p <z, Q m_t>) of every token; the mean is already removed, and p has mean zero and length one."""
        moved = tokens.read @ z
        eps = self.encoder.eps
        return np.sqrt((tokens.squares + 2.0 * moved * tokens.along + moved * moved) / self.encoder.width + eps)

    def outputs(self, z: Array, y: Array, tokens: Statistics) -> Array:
        """f of every text; y ends with y_0."""
        return self._outputs(z, y, tokens)[0]

    def _outputs(self, z: Array, y: Array, tokens: Statistics) -> tuple[Array, Array, Array]:
        """f, U (mean N - c), and the derivative of <y, U N> by what is written, for every token."""
        moved, deviation = tokens.read @ z, self.deviations(z, tokens)
        lifted = self.gained @ self.write
        normed = (tokens.seen + moved[:, None] * lifted) / deviation[:, None]
        pooled = np.add.reduceat(normed, tokens.starts, axis=0) / tokens.lengths[:, None] + self.offset
        pull = (tokens.along + moved) / (self.encoder.width * deviation * deviation)
        slope = (lifted @ y[:-1]) / deviation - (normed @ y[:-1]) * pull
        return pooled @ y[:-1] + y[-1], pooled, slope

    def lowest(self, z: Array, tokens: Statistics) -> Array:
        """The smallest deviation of a token, for every text."""
        return np.asarray(np.minimum.reduceat(self.deviations(z, tokens), tokens.starts))

    def fit(self, tokens: Statistics, signs: Array) -> list[tuple[Array, Array]]:
        """Trained coordinates, one pair (z, y) per strength of a penalty; any search is free, the cover pays for all.

        A logistic loss first, then a smoothed count of margin errors from where it ended.
        """
        margin, count, size = self.settings.margin, len(signs), self.settings.read
        found = []

        def objective(v: Array, penalty: float, temperature: float | None) -> tuple[float, Array]:
            """The loss with its penalty, and its gradient."""
            z, y = v[:size], v[size:]
            output, pooled, slope = self._outputs(z, y, tokens)
            slack = signs * output - margin
            if temperature is None:
                loss, pull = float(np.mean(np.logaddexp(0.0, -slack))), -expit(-slack) * signs / count
            else:
                below = expit(-slack / temperature)
                loss, pull = float(np.mean(below)), -below * (1.0 - below) / temperature * signs / count
            per_token = np.repeat(pull / tokens.lengths, tokens.lengths.astype(np.int64)) * slope
            gradient = np.concatenate([per_token @ tokens.read, pull @ pooled, [float(pull.sum())]])
            return loss + penalty * float(v @ v), gradient + 2.0 * penalty * v

        for penalty in PENALTIES:
            v = np.zeros(self.settings.coordinates)
            for temperature, steps in STAGES:
                goal = partial(objective, penalty=penalty, temperature=temperature)
                end = minimize(goal, v, jac=True, method="L-BFGS-B", options={"maxiter": steps})
                v = np.asarray(end.x, dtype=np.float64)
            found.append((v[:size], v[size:]))
        return found

    def analysis(self, read_radius: float, readout_radius: float) -> Analysis:
        """The class of adapters with ||z|| <= read_radius and ||y||, |y_0| <= readout_radius, in the engine."""
        last, width = self.encoder.layers[-1], self.encoder.width
        middle = _norm_radius(last.attention_norm.gain, last.attention_norm.shift, width)
        up_norm, down_norm = (_spectral(part) for part in (last.up, last.down))
        # |gelu(x)| and |relu(x)| are at most |x|.
        inner = up_norm * middle + _length(last.up.bias)
        whole = (middle + down_norm * inner + _length(last.down.bias)) * SINGLE
        positions = self.settings.tokens
        m = networks.tokens(width, middle * SINGLE, positions=positions)
        h = networks.tokens(width, whole, positions=positions)
        read = networks.linear(m, _frozen("directions read", self.reading))
        scalar = networks.linear(read, Weight("z", (1, self.settings.read), frobenius=read_radius))
        s = networks.add(h, networks.linear(scalar, _frozen("direction written", self.write[:, None])))
        norm = networks.layer_norm(
            s,
            _frozen("gains", last.final_norm.gain[:, None]),
            _frozen("shift", last.final_norm.shift[:, None]),
            eps=self.encoder.eps,
            floor=self.settings.floor,
        )
        pooled = networks.bias(networks.mean_pool(norm), _frozen("centre", -self.centre[:, None]))
        seen = networks.linear(pooled, _frozen("directions seen", self.seeing))
        y = Weight("y", (1, self.settings.readout), frobenius=readout_radius)
        return networks.analyse(networks.readout(seen, y, Weight("y0", (1, 1), frobenius=readout_radius)))

    def scales(
        self, fitted: Sequence[tuple[Array, Array]], tokens: Statistics, signs: Array
    ) -> list[tuple[Scale, Counted]]:
        """Every cell of the grid with the best trained coordinates that it holds, and what was counted there."""
        counted = [(z, y, signs * self.outputs(z, y, tokens), self.lowest(z, tokens)) for z, y in fitted]
        found = []
        for small, large in product(sorted(self.settings.read_radii), sorted(self.settings.readout_radii)):
            inside = [
                one
                for one in counted
                if np.linalg.norm(one[0]) <= small and max(np.linalg.norm(one[1][:-1]), abs(one[1][-1])) <= large
            ]
            if not inside:
                continue
            analysis = self.analysis(small, large)
            eps = self.settings.margin / 2.0
            (condition,) = analysis.conditions(eps)
            nats = analysis.log_size(eps)
            tries = [
                Counted(z, y, margins <= self.settings.margin, lowest < condition.counted_below, nats, small, large)
                for z, y, margins, lowest in inside
            ]
            best = min(tries, key=lambda one: one.errors)
            found.append((Scale(best.errors, nats, self.settings.paid, self.settings.margin), best))
        return found


@dataclass(frozen=True, eq=False)
class Counted:
    """One cell: the coordinates, which texts have a small margin, and which fall below the floor."""

    z: Array
    y: Array
    small: npt.NDArray[np.bool_]
    below: npt.NDArray[np.bool_]
    nats: float
    read_radius: float
    readout_radius: float

    @property
    def errors(self) -> int:
        """Texts that count: a small margin, or a token below its floor."""
        return int(np.sum(self.small | self.below))


@dataclass(frozen=True, eq=False)
class Adapted:
    """The report, the coordinates, and where the bound comes from."""

    report: Report
    card: dict[str, Any]

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """The report, and adapter.json: settings, coordinates, shares."""
        card = json.dumps(self.card, indent=2) + "\n"
        return replace(self.report, files={**self.report.files, "adapter.json": card.encode()}).write(folder)


PENALTIES = (1e-4, 1e-5)
STAGES: tuple[tuple[float | None, int], ...] = ((None, 80), (0.5, 60))
"""Temperature of the smoothed count (None: the logistic loss) and steps of the search."""


def adapt(
    path: str | Path,
    texts: str | Path,
    settings: AdapterSettings,
    *,
    text: str = "text",
    label: str = "label",
    repeats: Repeats = "refuse",
    delta: float = 0.05,
    cache: bool = True,
    progress: Progress | None = None,
) -> Adapted:
    """Train the adapter on all texts and certify it on the same ones; `delta` is its alone.

    Texts that repeat are refused; `repeats="group"` uses one row of each, "natural" takes them as independent draws.
    """
    data = read_texts(texts, text=text, label=label, repeats=repeats)
    used = chosen(data, 0)
    if len(data.names) != 2:
        raise InputError("labels", list(data.names), "two classes: the adapter has one output")
    frozen, tokens = prepared(path, [data.texts[row] for row in used], settings, cache=cache, progress=progress)
    signs = np.where(data.labels[used] == 1, 1.0, -1.0)
    cells = frozen.scales(frozen.fit(tokens, signs), tokens, signs)
    if not cells:
        largest = f"{max(settings.read_radii):g} and {max(settings.readout_radii):g}"
        raise InputError("radii", f"at most {largest}", "a grid that holds the trained coordinates")
    evidence = CoverWithFloors(
        n=len(signs),
        scales=frontier(scale for scale, _ in cells),
        subject=f"the encoder with an adapter of {settings.coordinates} coordinates",
        of=data.of,
    )
    cell = evidence.best(delta)
    best = next(counted for scale, counted in cells if scale == cell)
    errors = float(np.mean(signs * frozen.outputs(best.z, best.y, tokens) <= 0.0))
    findings = Findings(
        title=f"{Path(texts).name} with an adapter on {Path(path).name}",
        classes=2,
        observed={"train_error": errors, "heldout_error": None, "train_examples": len(signs)},
        evidence=(evidence,),
        configuration={"flow": "adapter", **asdict(settings)},
        seed=0,
        provenance={
            "encoder": str(path),
            "texts": str(texts),
            "texts_sha256": data.hash,
            "repeated_texts": data.repeated,
            "repeated_with_another_label": data.conflicting,
            "adapter_settings_sha256": settings.digest(),
        },
        conditions=(
            "the settings of the adapter were fixed before these texts were looked at",
            "the encoder was trained without the labels of these texts",
            *data.conditions,
        ),
        not_checked=(
            "whether the settings of the adapter were fixed before these texts were looked at",
            "whether the encoder had seen the labels of these texts",
        ),
        missing={},
    )
    report = build(findings, delta, only=evidence.id)
    return Adapted(report, _card(settings, evidence, best, errors, report, delta))


def told(card: dict[str, Any]) -> str:
    """Where the bound comes from, in a sentence."""
    return (
        f"of {percent_up(card['bound'])}: margin errors {100 * card['margin_errors']:.2f} %, texts with a token below "
        f"the floor {100 * card['below_the_floor_only']:.2f} %, and what {card['nats'] + card['paid']:.0f} nats for "
        f"{card['coordinates']} coordinates add, {100 * card['added_by_nats']:.2f} % "
        f"(n = {card['n']:,}; errors on the same texts {100 * card['training_error']:.2f} %)"
    )


def prepared(
    path: str | Path,
    texts: Sequence[str],
    settings: AdapterSettings,
    *,
    cache: bool = True,
    progress: Progress | None = None,
) -> tuple[Frozen, Statistics]:
    """The frozen directions and the statistics of the texts; frozen tokens are kept on disk, text by text."""
    encoder, ids = read(Path(path), [*settings.like, *settings.unlike, *texts], settings.tokens)
    if encoder.pooling != "mean":
        raise InputError("encoder", encoder.pooling, "mean pooling, which the adapter stands before")
    sentences = len(settings.like) + len(settings.unlike)
    frozen = Frozen.of(encoder, settings, ids[:sentences])
    key = hashlib.sha256(b"".join(part.tobytes() for part in (frozen.write, frozen.reading, frozen.gained))).hexdigest()
    store = Cache("adapter", kept=cache)
    parts = remembered(encoder, f"statistics {key}", frozen.few_numbers, ids[sentences:], store, progress)
    lengths = np.array([len(one) for one in parts])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    columns = np.split(np.concatenate(parts), np.cumsum([settings.read, settings.readout, 1]), axis=1)
    tokens_read, seen, squares, along = map(np.ascontiguousarray, columns)
    return frozen, Statistics(tokens_read, seen, squares[:, 0], along[:, 0], starts, lengths.astype(np.float64))


def _card(
    settings: AdapterSettings, evidence: CoverWithFloors, best: Counted, errors: float, report: Report, delta: float
) -> dict[str, Any]:
    """The bound taken apart: what was counted, and what the nats add to it."""
    value = report["cover.floors"].value
    assert value is not None
    small, below = int(best.small.sum()), int((best.below & ~best.small).sum())
    return {
        "bound": value,
        "delta": delta,
        "n": evidence.n,
        "coordinates": settings.coordinates,
        "training_error": errors,
        "margin_errors": small / evidence.n,
        "below_the_floor_only": below / evidence.n,
        "added_by_nats": value - best.errors / evidence.n,
        "nats": best.nats,
        "paid": settings.paid,
        "read_radius": best.read_radius,
        "readout_radius": best.readout_radius,
        "z": best.z.tolist(),
        "y": best.y.tolist(),
        "settings": asdict(settings),
    }


def _middle(encoder: Encoder, tokens: Sequence[int]) -> npt.NDArray[Any]:
    """Tokens behind the attention of the last layer."""
    return encoder.layers[-1].middle(encoder.states(tokens, encoder.depth - 1))


def _directions(vectors: Array, first: int, count: int) -> Array:
    """Orthonormal rows: the difference of the means of the two kinds, then what varies most beside it."""
    centred = vectors - vectors.mean(axis=0)
    difference = centred[:first].mean(axis=0) - centred[first:].mean(axis=0)
    unit = difference / np.linalg.norm(difference)
    rest = centred - np.outer(centred @ unit, unit)
    others = np.linalg.svd(rest, full_matrices=False)[2][: count - 1]
    return np.linalg.qr(np.vstack([unit, others]).T)[0].T


def _frozen(name: str, matrix: npt.NDArray[Any]) -> Weight:
    """A weight that does not move: its class is one point."""
    norm = spectral_norms(matrix.astype(np.float64)).upper.value
    row = up(float(np.max(np.linalg.norm(matrix.astype(np.float64), axis=1))) * (1.0 + 1e-12))
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    return Weight(name, shape, spectral_distance=0.0, max_row_distance=0.0, reference=Reference(norm, row))


def _norm_radius(gain: npt.NDArray[Any], shift: npt.NDArray[Any], width: int) -> float:
    return up(math.sqrt(width) * float(np.max(np.abs(gain))) + _length(shift))


def _length(vector: npt.NDArray[Any]) -> float:
    return up(float(np.linalg.norm(vector.astype(np.float64))) * (1.0 + 1e-12))


def _spectral(part: Affine) -> float:
    return spectral_norms(part.weight.astype(np.float64)).upper.value
