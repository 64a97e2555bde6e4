"""Mwigo and Dasgupta, appendix B: the shallow encoder on handwritten zeros and ones, full-batch gradient descent.

Table 1 and figures 1 to 3 show the same runs. A run's seed fixes the order of the training images and the initial
weights, whatever N and whatever the reading of the unstated settings: samples are nested and comparisons paired.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer import models, tasks
from certiformer.experiments.statistics import Interval, prediction_interval
from certiformer.experiments.study import Scale
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config
from certiformer.training import Data, Rules, Select, State, Step, begin, fast, full_batch, gradient_descent
from certiformer.training import run as train
from certiformer.training.losses import logistic

# The paper's Table 1: (d_m, N) -> lowest test loss, and the epoch at which it was seen.
PAPER_TABLE_1 = {
    (64, 400): (0.1048, 147),
    (64, 1200): (0.0668, 165),
    (64, 10_000): (0.0263, 546),
    (1024, 400): (0.1839, 95),
    (1024, 1200): (0.0760, 271),
    (1024, 10_000): (0.0045, 251),
    (4096, 400): (0.1269, 139),
    (4096, 1200): (0.0899, 169),
    (4096, 10_000): (0.0123, 312),
}
# The paper's learning rate.
PAPER_RATE = 0.1

BASE = {"pixels": "symmetric", "tokens": "padded", "logits": "one"}
"""How we read what the paper leaves open."""

OTHERS: tuple[Config, ...] = (
    {**BASE, "pixels": "standardised"},
    {**BASE, "pixels": "unit"},
    {**BASE, "tokens": "cropped"},
    {**BASE, "tokens": "flat"},
    {**BASE, "tokens": "flat_cropped"},
    {**BASE, "logits": "two"},
)
PIXELS_ONLY = OTHERS[:2]

SPOKEN = {
    "symmetric": "pixels in [-1, 1]",
    "standardised": "standardised pixels",
    "unit": "pixels in [0, 1]",
    "padded": "16 patches of the padded image",
    "cropped": "9 patches of the cropped image",
    "flat": "13 tokens in reading order",
    "flat_cropped": "12 tokens in reading order",
    "one": "one logit",
    "two": "two logits",
}

READINGS = (
    (
        "Data: the package holds the real MNIST zeros and ones, all 12,665 for training and all 2,115 for testing. "
        "The N training images are drawn without replacement by seed; the test loss is taken over all 2,115. The "
        "paper does not say how it chose either."
    ),
    "Pixels: scaled to [-1, 1]; also standardised, and [0, 1]. The paper does not say.",
    (
        "Tokens: a blank border makes 32 x 32 pixels, cut into 16 patches of 8 x 8; also 9 patches of the image "
        "cropped to 24 x 24, and 13 or 12 runs of 64 pixels in reading order. 784 is not a multiple of the paper's "
        "64."
    ),
    (
        "Cross-entropy: logistic loss of the scalar output that the paper's model has, with labels -1 and +1; also "
        "the softmax of two outputs, which is the same network with its output times sqrt(2)."
    ),
    (
        "Initial weights: LeCun's, as the paper states. Learning rate 0.1, all images in every step, as stated. "
        "Training is in float32."
    ),
    (
        "Stopping: the paper does not say how long it trained. 'Lowest' is the lowest test loss among the epochs "
        "recorded in our run (every tenth in the quick setting, all in the full one); it is chosen on the test set, "
        "hence optimistic. 'At the paper's epoch' is the same run read at the epoch that Table 1 names."
    ),
    (
        "The paper has one run for each cell, so its number is compared with where one more run of ours would fall: "
        "a 95 % prediction interval over seeds, computed on logarithms."
    ),
    (
        "The quick setting is smaller than the paper: N up to 2,000 at width 64, up to 400 at 1,024 and up to 200 "
        "at 4,096, with 250, 150 and 80 epochs; the other readings at width 64 and N = 400 only."
    ),
)


def experiment(scale: Scale, d_m: int | None = None) -> Experiment:
    """The runs behind Table 1 at a scale; with `d_m` those of the figure for this width."""
    configs = list(_grid(scale))
    if d_m is not None:
        configs = [c for c in configs if c["d_m"] == d_m and reading(c) == BASE]
    return Experiment(
        "mwigo.mnist",
        run=f"{__name__}:run",
        configs=configs,
        batch_key=_shape,
    )


def _shape(config: Config) -> tuple[int, int, str]:
    """What decides how long a step takes: `probe` is asked once for each."""
    return config["d_m"], config["n"], config["tokens"]


def _grid(scale: Scale) -> Iterator[Config]:
    if scale == "smoke":
        yield from _cells({64: (40, 80), 1024: (40,), 4096: (40,)}, {64: 10, 1024: 4, 4096: 4}, 2, seeds=1)
        yield from _cells({64: (40,)}, {64: 10}, 2, seeds=1, readings=PIXELS_ONLY[1:])
    elif scale == "quick":
        sizes = {64: (100, 200, 400, 1200, 2000), 1024: (100, 200, 400), 4096: (50, 100, 200)}
        epochs = {64: 250, 1024: 150, 4096: 80}
        yield from _cells(sizes, epochs, 10, seeds=5)
        yield from _cells({64: (400,)}, epochs, 10, seeds=5, readings=OTHERS)
    else:
        widths, sizes_all = (64, 1024, 4096), (400, 1200, 10_000)
        epochs = dict.fromkeys(widths, 1000)
        yield from _cells(dict.fromkeys(widths, sizes_all), epochs, 1, seeds=5)
        yield from _cells({64: sizes_all}, epochs, 1, seeds=5, readings=OTHERS)
        yield from _cells({1024: sizes_all}, epochs, 1, seeds=5, readings=PIXELS_ONLY)


def _cells(
    sizes: dict[int, tuple[int, ...]],
    epochs: dict[int, int],
    every: int,
    *,
    seeds: int,
    readings: Sequence[Config] = (BASE,),
) -> Iterator[Config]:
    for seed in range(seeds):
        for chosen in readings:
            for d_m, counts in sizes.items():
                for n in counts:
                    fixed = {"rate": PAPER_RATE, "epochs": epochs[d_m], "every": every}
                    yield {"d_m": d_m, "n": n, **chosen, **fixed, "seed": seed}


def run(config: Config) -> Outcome:
    """Train once; losses on the training and on all test images at every recorded epoch, and the best iterate."""
    step, state, data = _prepared(config)
    every, records = config["every"], _records(config)
    rules = Rules(select=Select("validation_loss", "before"))
    record = train(
        step,
        state,
        data,
        steps=records,
        chunk=records,
        rules=rules,
        kept=_params,
        on_divergence="record",
        progress=False,
    )
    epoch = every * np.arange(len(record.metrics["loss"]))
    best = int(record.best_step)
    diverged = int(record.diverged)
    values = {
        "lowest": float(record.best_value),
        "epoch": int(epoch[best]),
        "train": float(record.metrics["loss"][best]),
        "falling": best == len(epoch) - 1,
        "diverged": None if diverged < 0 else int(epoch[diverged]),
        "start": _norms(state.params),
        "moved": _distances(state.params, record.best),
    }
    curves = {name: record.metrics[metric] for name, metric in (("train", "loss"), ("test", "validation_loss"))}
    return Outcome(values, {"epoch": epoch, **curves})


def _records(config: Config) -> int:
    """Epoch 0, every, 2 every, ..., the last included."""
    return int(config["epochs"] // config["every"]) + 1


def _prepared(config: Config) -> tuple[Step, State, Data]:
    key_task, key_model = jax.random.split(jax.random.key(config["seed"]))
    seen = tasks.build("mnist", key_task, n=config["n"], pixels=config["pixels"], tokens=config["tokens"]).train
    model = models.build("shallow_encoder", key_model, d=seen.inputs.shape[-1], d_m=config["d_m"])
    data = Data(fast.merge_patches(seen.inputs, seen.labels), _test_images(config["pixels"], config["tokens"]))
    step = _step(config["every"], config["rate"], config["logits"])
    return step, begin(model, gradient_descent(config["rate"]), key_model), data


@functools.lru_cache(maxsize=8)
def _test_images(pixels: str, tokens: str) -> tuple[fast.MergedPatches, ...]:
    test = tasks.build("mnist", jax.random.key(0), n=1, pixels=pixels, tokens=tokens).test
    return fast.merge_patches(test.inputs, test.labels)


@functools.lru_cache(maxsize=8)
def _step(every: int, rate: float, logits: str) -> Step:
    """Both losses as they stand, then `every` updates. Kept, so that equal shapes are compiled once."""
    objective = fast.merged_patches(two_logits if logits == "two" else logistic)
    update = full_batch(objective, gradient_descent(rate))

    def step(state: State, index: Array, data: Data) -> tuple[State, dict[str, Array]]:
        test, _ = objective(state.params, data.validation)
        moved, metrics = jax.lax.scan(lambda s, k: update(s, k, data), state, jnp.arange(every))
        return moved, {"loss": metrics["loss"][0], "validation_loss": test}

    return step


def two_logits(output: Array, label: Array) -> Array:
    """Cross-entropy of two outputs w_1.h and w_2.h with LeCun weights, as a loss of one output w.h.

    Only w_1 - w_2 matters. It starts as N(0, 2/d_m) and moves twice as fast as one readout would: so does sqrt(2) w.
    """
    return logistic(math.sqrt(2.0) * output, label)


def _params(state: State) -> Any:
    return state.params


def _norms(params: Any) -> dict[str, float]:
    """Frobenius (F) and spectral (2) norms of the initial weights, under the names that Theorem 5 takes."""
    matrices = {name: np.asarray(getattr(params, f"W_{name}"), float) for name in "QKV"}
    frobenius = {f"W{name}F": float(np.linalg.norm(matrix)) for name, matrix in matrices.items()}
    spectral = {f"W{name}2": float(np.linalg.norm(matrix, 2)) for name, matrix in matrices.items()}
    return frobenius | spectral | {"wOF": float(np.linalg.norm(np.asarray(params.w_O, float)))}


def _distances(start: Any, end: Any) -> dict[str, float]:
    """How far each weight is from its initial value, in Frobenius norm."""
    names = {"RQ": "W_Q", "RK": "W_K", "RV": "W_V", "RO": "w_O"}
    return {
        radius: float(np.linalg.norm(np.asarray(getattr(end, name), float) - np.asarray(getattr(start, name), float)))
        for radius, name in names.items()
    }


def cost(config: Config) -> float:
    """Seconds on one core: updates in proportion to N, passes over the test images, data and compilation."""
    # Measured (float32, one thread): microseconds per image and update, milliseconds per pass over the test images.
    d_m = config["d_m"]
    update = 1e-6 * (8.0 + 0.04 * d_m + 3e-6 * d_m**2) * config["n"]
    test = 1e-3 * (8.5 + 0.056 * d_m)
    prepare = 0.7 + 3e-4 * config["n"]
    return float(prepare + _records(config) * (config["every"] * update + test))


def probe(config: Config) -> float:
    """The same from records that are really made here; the shortest of a few, since others may use the machine too."""
    started = time.perf_counter()
    step, state, data = _prepared(config)
    prepared = time.perf_counter() - started
    train(step, state, data, steps=1, chunk=1, progress=False)
    each = math.inf
    for _ in range(3):
        started = time.perf_counter()
        train(step, state, data, steps=1, chunk=1, progress=False)
        each = min(each, time.perf_counter() - started)
    return prepared + each * _records(config)


@dataclass(frozen=True, eq=False)
class Cell:
    """The finished seeds of one (d_m, N) under one reading."""

    d_m: int
    n: int
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        return f"d_m = {self.d_m:,}, N = {self.n:,}"

    @property
    def paper(self) -> tuple[float, int] | None:
        return PAPER_TABLE_1.get((self.d_m, self.n))

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(row.config["seed"] for row in self.rows)

    @property
    def lowest(self) -> Vector:
        return np.array([row.values["lowest"] for row in self.rows])

    @property
    def epochs(self) -> Vector:
        """When the lowest test loss was seen."""
        return np.array([row.values["epoch"] for row in self.rows], float)

    @property
    def length(self) -> int:
        """The epochs that all seeds have."""
        return min(int(row.config["epochs"]) for row in self.rows)

    @property
    def falling(self) -> int:
        """How many runs had their lowest test loss at the very end."""
        return sum(bool(row.values["falling"]) for row in self.rows)

    def at(self, epoch: float, curve: str = "test") -> Vector:
        """The loss at an epoch, between recorded ones by interpolation."""
        return np.array([np.interp(epoch, row.arrays["epoch"], row.arrays[curve]) for row in self.rows])

    def curve(self, name: str) -> tuple[Vector, npt.NDArray[np.float64]]:
        """Epochs recorded in all seeds, and the losses there: (seeds, epochs)."""
        shared = min((row.arrays["epoch"] for row in self.rows), key=len)
        return np.asarray(shared, float), np.array([row.arrays[name][: len(shared)] for row in self.rows], float)

    def paired(self, other: Cell, values: Callable[[Cell], Vector]) -> tuple[Vector, Vector]:
        """Both cells' values for the seeds that both have."""
        ours, theirs = (dict(zip(cell.seeds, values(cell), strict=True)) for cell in (self, other))
        shared = sorted(ours.keys() & theirs.keys())
        return np.array([ours[s] for s in shared]), np.array([theirs[s] for s in shared])


Vector = npt.NDArray[np.float64]


def reading(config: Config) -> Config:
    """The part of a configuration that the paper leaves open."""
    return {name: config[name] for name in BASE}


def spoken(chosen: Config) -> str:
    """A reading by what sets it apart from ours."""
    apart = [SPOKEN[chosen[name]] for name in BASE if chosen[name] != BASE[name]]
    return ", ".join(apart) or "as we read it"


def cells(rows: Iterable[Row], chosen: Config = BASE) -> tuple[Cell, ...]:
    """The cells of one reading, by width and sample size."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if reading(row.config) == chosen:
            groups.setdefault((row.config["d_m"], row.config["n"]), []).append(row)
    ordered = sorted(groups.items())
    return tuple(Cell(*key, tuple(sorted(each, key=lambda row: row.config["seed"]))) for key, each in ordered)


def one_more_run(values: Vector) -> Interval:
    """Geometric mean, and where one more run would fall: a prediction interval of logarithms."""
    logs = prediction_interval(np.log(values))
    return Interval(*(float(np.exp(end)) for end in (logs.value, logs.low, logs.high)))


def paired_by_size(row: Sequence[Cell], values: Callable[[Cell], Vector]) -> tuple[dict[float, Vector], bool]:
    """N -> values, for the seeds that all cells have; whatever there is, unpaired, if they share none."""
    shared = set.intersection(*(set(cell.seeds) for cell in row))
    if not shared:
        return {float(cell.n): values(cell) for cell in row}, False
    return {float(cell.n): values(cell)[[seed in shared for seed in cell.seeds]] for cell in row}, True


def falls(found: Interval, level: float) -> str:
    """The claim that something decreases: an exponent is below 0, a ratio is below 1."""
    if found.high < level:
        return "agrees"
    return "does not agree" if found.low > level else "inconclusive"


def tells(found: Interval, cell: Cell, column: int = 0) -> str:
    """Whether one more run could have given the paper's number, and whether the interval could have said no.

    One that holds the paper's number for another N at the same width as well cannot tell which of them it saw.
    Column 0 of the table is the loss, column 1 the epoch.
    """
    assert cell.paper is not None
    if not found.contains(cell.paper[column]):
        return "does not agree"
    others = [pair[column] for (d_m, n), pair in PAPER_TABLE_1.items() if d_m == cell.d_m and n != cell.n]
    return "inconclusive" if any(map(found.contains, others)) else "agrees"
