"""Choose the demo's settings on digits that the demo never sees: pairs without 0 and 1, from the public MNIST files.

    python tools/choose_settings.py FOLDER compression [--log docs/data/demo-runs.jsonl]

Every run is appended to the log as one line of JSON: what was run, on which digits, what came out. The winner of a
part is the setting with the smallest mean of ln(figure) over the pairs; the recipe is then written with it, once.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from certiformer.lab.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.lab.procedures._augment import Shifts
from certiformer.lab.procedures._learners import Descent
from certiformer.lab.procedures._model import parametrised
from certiformer.lab.procedures._picking import compress
from certiformer.lab.recipes.mnist import Images, images
from certiformer.lab.tasks.mnist import Digits

PAIRS = ((6, 7), (3, 4))
SAMPLE = 3000


def training_images(folder: Path) -> Digits:
    """From the gzipped IDX files of MNIST: sixteen bytes before the images, eight before their digits."""
    images, labels = (
        np.frombuffer(gzip.decompress((folder / f"train-{name}-ubyte.gz").read_bytes()), np.uint8, offset=offset)
        for name, offset in (("images-idx3", 16), ("labels-idx1", 8))
    )
    return Digits(images.reshape(-1, 28, 28), labels)


def digits(source: Digits, pair: tuple[int, int], position: float, n: int = SAMPLE) -> Images:
    """The first n of a fixed permutation of the training images of two digits, neither 0 nor 1."""
    assert not {0, 1} & set(pair), "the demo's digits are not looked at"
    rows = np.flatnonzero(np.isin(source.digits, pair))
    rows = np.random.default_rng(sum(pair)).permutation(rows)[:n]
    return images(Digits(source.images[rows], source.digits[rows]), pair[1], position)


def compression(train: Digits) -> Iterator[tuple[dict[str, Any], float]]:
    """Picks and leftovers at the best stage of the grid that the recipe declares."""
    for steps, rate in ((400, 0.005), (800, 0.003)):
        for position in (4.0, 8.0):
            for shift in (2,):
                for pair in PAIRS:
                    part = digits(train, pair, position)
                    start = ShallowEncoder.init(jax.random.key(0), ShallowEncoderConfig(80, 64))
                    learner = Descent(parametrised(start), steps, rate, 0, Shifts(shift))
                    found = compress(learner, part.x, part.y, most=96, grid=(8, 12, 16, 20, 24, 32, 40, 48, 64))
                    setting = {"steps": steps, "rate": rate, "position": position, "shift": shift}
                    yield {"pair": pair, **setting, "picks": len(found.rows)}, found.best.picks + found.best.left


PARTS: dict[str, Callable[[Digits], Iterator[tuple[dict[str, Any], float]]]] = {"compression": compression}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the gzipped IDX files of MNIST")
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--log", type=Path, default=Path("docs/data/demo-runs.jsonl"))
    given = parser.parse_args()
    train = training_images(given.folder)
    started = time.process_time()
    for run, figure in PARTS[given.part](train):
        seconds, started = time.process_time() - started, time.process_time()
        line = {"part": given.part, **run, "figure": figure, "cpu_seconds": round(seconds, 1)}
        with given.log.open("a") as log:
            log.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
