"""Mwigo and Dasgupta, appendix B: the shallow encoder on handwritten zeros and ones, by gradient descent on batches.

Table 1 and figures 1 to 3 show the same runs. A run's seed fixes the training images and the initial weights, whatever
N and whatever the reading of the unstated settings: samples are nested and comparisons paired.

What a run does: `_mwigo_runs`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.reproduction.study import Scale
from certiformer.reproduction.sweep import Config, Experiment

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
BEST: tuple[Config, ...] = (
    {**BASE, "last": "drop"},
    {**BASE, "logits": "two"},
    {**BASE, "pixels": "symmetric", "batch": 128},
)
"""Besides BASE, the readings that fitted the cells of CHOSEN_ON best with three seeds each: they score within 0.15 of
each other, the next more than 0.6 lower."""

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

SIZES: tuple[int | str, ...] = (100, 200, 300, 500, 1000, "N/4")
"""Test images that the paper may have used, of the 2,115 that there are."""


def experiment(scale: Scale, d_m: int | None = None) -> Experiment:
    """The runs behind Table 1 at a scale; with `d_m` those of the figure for this width."""
    configs = list(_grid(scale))
    if d_m is not None:
        configs = [c for c in configs if c["d_m"] == d_m and reading(c) == BASE]
    return Experiment("mwigo.mnist", f"{__package__}._mwigo_runs:run", configs)


def by_image(scale: Scale) -> Experiment:
    """The runs of Table 1 under our reading, done again with the losses of single test images; the cheapest first."""
    configs = [c for c in _grid(scale) if reading(c) == BASE]
    configs.sort(key=lambda c: (c["d_m"] * (c["n"] + 700) * c["epochs"], c["seed"]))
    return Experiment("mwigo.test_set", f"{__package__}._mwigo_runs:run_by_image", configs)


def part_loss(
    kept: Mapping[str, npt.NDArray[Any]], chosen: npt.NDArray[np.bool_], m: int, images: int
) -> npt.NDArray[np.float64]:
    """The loss by epoch on parts of m test images, a row for each; `chosen` are the kept hard images in each part.

    The others in a part count as the mean of all that were not kept.
    """
    hard = chosen @ kept["losses"].astype(float).T
    rest = np.outer(m - chosen.sum(axis=1), kept["rest_sum"] / max(1, images - len(kept["hard"])))
    mean: npt.NDArray[np.float64] = (hard + rest) / m
    return mean


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
    large, largest = {64: (LARGE,), 1024: (LARGE,)}, {4096: (LARGE,)}
    rest = {d_m: tuple(n for n in counts if (d_m, n) not in CHOSEN_ON) for d_m, counts in sizes.items()}
    grown = {**BASE, "batch": batch_that_grows(LARGE)}
    yield from _cells(sizes, PAPER_EPOCHS, 1, range(3))
    yield from _cells({64: (400, 1200)}, PAPER_EPOCHS, 1, range(3), OTHERS)
    yield from _cells(large, PAPER_EPOCHS, 1, range(3), (grown,))
    yield from _cells(largest, PAPER_EPOCHS, 1, range(1), (BASE, grown))
    yield from _cells(sizes, PAPER_EPOCHS, 1, range(3, 5))
    yield from _cells(rest, PAPER_EPOCHS, 1, range(3), BEST)
    yield from _cells(largest, PAPER_EPOCHS, 1, range(1), BEST)
    yield from _cells(largest, PAPER_EPOCHS, 1, range(5))


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


def reading(config: Config) -> Config:
    """The part of a configuration that the paper leaves open."""
    return {name: config[name] for name in BASE}


def spoken(chosen: Config) -> str:
    """A reading by what sets it apart from ours."""
    apart = [SPOKEN[chosen[name]] for name in BASE if chosen[name] != BASE[name]]
    return ", ".join(apart) or "as we read it"
