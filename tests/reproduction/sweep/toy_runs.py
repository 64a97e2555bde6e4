"""Small runs for the tests of the sweep engine: quick, slow, failing, deadly."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.reproduction.sweep import Outcome

SCALE = 3.0


def walk(config: dict[str, Any]) -> Outcome:
    """A random walk: values, arrays, an infinity, a nan; and a trace of who did it, where asked for."""
    trace(config)
    time.sleep(config.get("sleep", 0.0))
    deadline = time.monotonic() + 120.0
    while config["seed"] >= first_held(Path(config.get("hold", "/nonexistent"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    steps = SCALE * np.random.default_rng(config["seed"]).normal(size=config.get("n", 5)).cumsum()
    values = {"last": steps[-1], "n": steps.size, "worst": math.inf, "none": math.nan, "nested": {"a": [1, None, "é"]}}
    return Outcome(values, {"steps": steps, "signs": steps > 0})


def first_held(hold: Path) -> float:
    """Runs wait from this seed on, as long as the file is there; it has the seed in it, or nothing for all."""
    try:
        return int(hold.read_text() or 0)
    except FileNotFoundError:
        return math.inf


def walks(configs: list[dict[str, Any]]) -> list[Outcome]:
    """The same for many at once."""
    if any(config.get("trouble") for config in configs):
        raise ValueError("the batch has a troublemaker")
    outcomes = [walk(config) for config in configs]
    return [Outcome({**o.values, "batch": len(configs)}, o.arrays) for o in outcomes]


def troubled(config: dict[str, Any]) -> Outcome:
    """Does what the configuration says: raises, exits, dies, prints, or gives something that is no outcome."""
    trouble = config.get("trouble")
    if trouble == "raise" and not Path(config.get("cured", "/nonexistent")).exists():
        raise ValueError(f"seed {config['seed']} is unlucky")
    if trouble == "exit":
        sys.exit(3)
    if trouble == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if trouble == "print":
        print("noise")  # noqa: T201
    if trouble == "wrong":
        return {"loss": 1.0}  # type: ignore[return-value]
    if trouble == "interrupt":
        raise KeyboardInterrupt
    return walk(config)


def deadly_batch(configs: list[dict[str, Any]]) -> list[Outcome]:
    return [troubled(config) for config in configs]


def short_batch(configs: list[dict[str, Any]]) -> list[Outcome]:
    return walks(configs)[:-1]


def environment(config: dict[str, Any]) -> Outcome:
    return Outcome({name: os.environ.get(name) for name in config["names"]})


def trace(config: dict[str, Any]) -> None:
    """Leave one line per execution in a file that all processes share."""
    if "log" in config:
        with open(config["log"], "a") as file:
            file.write(f"{config['seed']} {os.getpid()}\n")
