"""Mwigo and Dasgupta, appendix B: the shallow encoder on handwritten zeros and ones, by gradient descent on batches.

Table 1 and figures 1 to 3 show the same runs. A run's seed fixes the training images and the initial weights, whatever
N and whatever the reading of the unstated settings: samples are nested and comparisons paired.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from certiformer.experiments.statistics import Interval, prediction_interval
from certiformer.experiments.study import Scale
from certiformer.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config
from certiformer.tasks.mnist import mnist
from certiformer.training import fast

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

BASE: Config = {"pixels": "unit", "tokens": "padded", "logits": "one", "batch": 32, "last": "keep"}
"""How we read what the paper leaves open."""

PIXELS = ("unit", "symmetric", "standardised")
BATCHES = (16, 32, 64, 128, 256, "full")
OTHERS: tuple[Config, ...] = (
    *({**BASE, "batch": b, "pixels": p} for p in PIXELS for b in BATCHES if (b, p) != (BASE["batch"], BASE["pixels"])),
    {**BASE, "tokens": "cropped"},
    {**BASE, "tokens": "flat"},
    {**BASE, "tokens": "flat_cropped"},
    {**BASE, "logits": "two"},
    {**BASE, "last": "drop"},
)
"""Every batch size with every scale of the pixels; the other questions one at a time."""

CHOSEN_ON = ((64, 400), (64, 1200))
"""The cells on which all readings are run; those that fit best are run on the rest, which confirm or refute them."""
BEST: tuple[Config, ...] = ({**BASE, "logits": "two"}, {**BASE, "batch": 64})
"""Besides BASE, the readings that fitted the cells of CHOSEN_ON best."""

SPOKEN: dict[object, str] = {
    "symmetric": "pixels in [-1, 1]",
    "standardised": "standardised pixels",
    "unit": "pixels in [0, 1]",
    "padded": "16 patches of the padded image",
    "cropped": "9 patches of the cropped image",
    "flat": "13 tokens in reading order",
    "flat_cropped": "12 tokens in reading order",
    "one": "one logit",
    "two": "two logits",
    "full": "all images in one batch",
    "keep": "the last, smaller batch kept",
    "drop": "the last, smaller batch dropped",
    **{batch: f"batches of {batch}" for batch in BATCHES if isinstance(batch, int)},
}

READINGS = (
    (
        "Data: the package holds the real MNIST zeros and ones, all 12,665 for training and all 2,115 for testing. "
        "The N training images are drawn without replacement by seed; the test loss is taken over all 2,115. The "
        "paper does not say how it chose either."
    ),
    "Pixels: in [0, 1]; also in [-1, 1], and standardised. The paper does not say.",
    (
        "Batches: the paper says batch gradient descent and no size. 32 images in a fresh random order in every epoch, "
        "the last, smaller batch kept; also 16, 64, 128, 256 and all images at once, and without the last batch."
    ),
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
        "Initial weights: LeCun's, as the paper states. Learning rate 0.1, as stated. Training is in float32. The "
        "training loss of a curve is the mean over the batches of the epoch, each before its update; the one beside a "
        "lowest test loss is that of the same weights on all N images."
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


def _shape(config: Config) -> tuple[Any, ...]:
    """What decides how long a step takes: `probe` is asked once for each."""
    return config["d_m"], config["n"], config["tokens"], config["batch"]


def batch_that_grows(n: int) -> int:
    """The power of two nearest to 1.28 sqrt(N): 32, 32 and 128 for N = 400, 1,200 and 10,000.

    The hypothesis that the batch grows with N, as it was written down before any run with it at d_m = 1,024 or 4,096.
    """
    return int(2 ** round(math.log2(1.28 * math.sqrt(n))))


PAPER_EPOCHS = {64: 600, 1024: 350, 4096: 350}
"""Longer than every epoch of Table 1 at that width."""
LARGE = 10_000


def _grid(scale: Scale) -> Iterator[Config]:
    if scale == "smoke":
        yield from _cells({64: (40, 80), 1024: (40,), 4096: (40,)}, {64: 10, 1024: 4, 4096: 4}, 2, range(1))
        yield from _cells({64: (40,)}, {64: 10}, 2, range(1), ({**BASE, "pixels": "symmetric"},))
    elif scale == "quick":
        sizes = {64: (100, 200, 400, 1200, 2000), 1024: (100, 200, 400), 4096: (50, 100, 200)}
        epochs = {64: 250, 1024: 150, 4096: 80}
        yield from _cells(sizes, epochs, 10, range(5))
        yield from _cells({64: (400,)}, epochs, 10, range(5), OTHERS)
    else:
        seen: set[str] = set()
        for config in _paper_order():
            name = repr(config)
            if name not in seen:
                seen.add(name)
                yield config


def _paper_order() -> Iterator[Config]:
    """Table 1, then the readings: an interruption leaves whole seeds over all cells. Some cells come up twice."""
    sizes = {64: (400, 1200, LARGE), 1024: (400, 1200, LARGE), 4096: (400, 1200)}
    largest, all_sizes = {4096: (LARGE,)}, dict.fromkeys(PAPER_EPOCHS, (400, 1200, LARGE))
    grown = {**BASE, "batch": batch_that_grows(LARGE)}
    yield from _cells(sizes, PAPER_EPOCHS, 1, range(3))
    yield from _cells({64: (400, 1200)}, PAPER_EPOCHS, 1, range(3), OTHERS)
    yield from _cells({64: (LARGE,), 1024: (LARGE,)}, PAPER_EPOCHS, 1, range(3), (grown,))
    yield from _cells(largest, PAPER_EPOCHS, 1, range(1), (BASE, grown))
    yield from _cells(sizes, PAPER_EPOCHS, 1, range(3, 5))
    yield from _cells({64: (LARGE,), 1024: (LARGE,)}, PAPER_EPOCHS, 1, range(5), (grown,))
    yield from _cells(sizes, PAPER_EPOCHS, 1, range(5), BEST)
    yield from _cells(all_sizes, PAPER_EPOCHS, 1, range(5), (BASE, *BEST))
    yield from _cells(largest, PAPER_EPOCHS, 1, range(5), (grown,))


def _cells(
    sizes: Mapping[int, tuple[int, ...]],
    epochs: dict[int, int],
    every: int,
    seeds: Iterable[int],
    readings: Sequence[Config] = (BASE,),
) -> Iterator[Config]:
    for seed in seeds:
        for chosen in readings:
            for d_m, counts in sizes.items():
                for n in counts:
                    fixed = {"rate": PAPER_RATE, "epochs": epochs[d_m], "every": every}
                    yield {"d_m": d_m, "n": n, **chosen, **fixed, "seed": seed}


def run(config: Config) -> Outcome:
    """Train once; losses on the training and on all test images at every recorded epoch, and the best iterate."""
    images, weights = _prepared(config)
    test = _test_images(config["pixels"], config["tokens"])
    steps = _epochs(images, config)
    start = {name: value.copy() for name, value in weights.items()}
    shuffled = np.random.default_rng([SHUFFLES, config["seed"]])
    epoch, train, losses = [0], [steps.loss(weights, images)], [steps.loss(weights, test)]
    best, kept, diverged = 0, start, None
    for now in range(1, config["epochs"] + 1):
        running = steps.epoch(weights, _order(shuffled, config))
        if not math.isfinite(running):
            diverged = now
            break
        if now % config["every"] == 0:
            epoch.append(now)
            train.append(running)
            losses.append(steps.loss(weights, test))
            if losses[-1] < losses[best]:
                best, kept = len(epoch) - 1, {name: value.copy() for name, value in weights.items()}
    values = {
        "lowest": losses[best],
        "epoch": epoch[best],
        "train": steps.loss(kept, images),
        "falling": best == len(epoch) - 1,
        "diverged": diverged,
        "start": _norms(start),
        "moved": _distances(start, kept),
    }
    curves = {"train": np.array(train, np.float32), "test": np.array(losses, np.float32)}
    return Outcome(values, {"epoch": np.array(epoch), **curves})


Weights = dict[str, npt.NDArray[np.float32]]
SHUFFLES = 20  # so that the order of the batches has a stream of its own


def _order(shuffled: np.random.Generator, config: Config) -> npt.NDArray[np.int64]:
    """The images of an epoch."""
    n, batch = config["n"], config["batch"]
    order = shuffled.permutation(n)
    whole = n if batch == "full" or config["last"] == "keep" else max(1, n // batch) * batch
    return order[:whole]


def _records(config: Config) -> int:
    """Epoch 0, every, 2 every, ..., the last included."""
    return int(config["epochs"] // config["every"]) + 1


def _prepared(config: Config) -> tuple[fast.Patches, Weights]:
    key_task, key_model = jax.random.split(jax.random.key(config["seed"]))
    seen = mnist(key_task, n=config["n"], pixels=config["pixels"], tokens=config["tokens"]).train
    model = ShallowEncoder.init(key_model, ShallowEncoderConfig(seen.inputs.shape[-1], config["d_m"]))
    weights = {name: np.array(getattr(model, name), np.float32) for name in ("W_Q", "W_K", "W_V", "w_O")}
    return fast.distinct_patches(seen.inputs, seen.labels), weights


def _epochs(images: fast.Patches, config: Config) -> fast.PatchEpochs:
    """Two outputs w_1.h and w_2.h with LeCun weights are one output w.h that counts sqrt(2) times.

    Only w_1 - w_2 matters. It starts as N(0, 2/d_m) and moves twice as fast as one readout would: so does sqrt(2) w.
    """
    batch = config["n"] if config["batch"] == "full" else config["batch"]
    gain = math.sqrt(2.0) if config["logits"] == "two" else 1.0
    return fast.patch_epochs(images, batch=batch, rate=config["rate"], gain=gain)


@functools.lru_cache(maxsize=8)
def _test_images(pixels: str, tokens: str) -> fast.Patches:
    test = mnist(jax.random.key(0), n=1, pixels=pixels, tokens=tokens).test
    return fast.distinct_patches(test.inputs, test.labels)


def _norms(weights: Weights) -> dict[str, float]:
    """Frobenius (F) and spectral (2) norms of the initial weights, under the names that Theorem 5 takes."""
    matrices = {name: weights[f"W_{name}"].astype(float) for name in "QKV"}
    frobenius = {f"W{name}F": float(np.linalg.norm(matrix)) for name, matrix in matrices.items()}
    spectral = {f"W{name}2": float(np.linalg.norm(matrix, 2)) for name, matrix in matrices.items()}
    return frobenius | spectral | {"wOF": float(np.linalg.norm(weights["w_O"].astype(float)))}


def _distances(start: Weights, end: Weights) -> dict[str, float]:
    """How far each weight is from its initial value, in Frobenius norm."""
    names = {"RQ": "W_Q", "RK": "W_K", "RV": "W_V", "RO": "w_O"}
    return {
        radius: float(np.linalg.norm(end[name].astype(float) - start[name].astype(float)))
        for radius, name in names.items()
    }


def cost(config: Config) -> float:
    """Seconds on one core: updates, passes over the test images, data."""
    # Measured (one thread): microseconds for an image of an epoch, and for an update; milliseconds for the test images.
    d_m = config["d_m"]
    batch = config["n"] if config["batch"] == "full" else config["batch"]
    epoch = 1e-6 * ((8.0 + 0.07 * d_m) * config["n"] + (50.0 + 0.8 * d_m) * (1 + config["n"] // batch))
    test = 1e-3 * (6.5 + 0.04 * d_m)
    return float(1.0 + 3e-4 * config["n"] + config["epochs"] * epoch + _records(config) * test)


def probe(config: Config) -> float:
    """The same from epochs and test passes that are really made here, in seconds of the processor."""
    started = time.process_time()
    images, weights = _prepared(config)
    test = _test_images(config["pixels"], config["tokens"])
    steps, order = _epochs(images, config), np.arange(config["n"])[: 4 * TIMED]
    prepared = time.process_time() - started
    steps.epoch(weights, order)
    steps.loss(weights, test)
    started = time.process_time()
    steps.epoch(weights, order)
    epoch = (time.process_time() - started) * config["n"] / len(order)
    started = time.process_time()
    steps.loss(weights, test)
    return float(prepared + config["epochs"] * epoch + _records(config) * (time.process_time() - started))


TIMED = 256
"""A quarter of the images whose updates are timed for an estimate."""


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
