"""Bounds over arrays beside an earlier release, and two-sided spectral norms beside numpy's SVD."""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

IDS = ("li.thm5.3", "mwigo.thm5", "trauger.corD.0.1")
SIZES = sorted({round(n) for n in np.geomspace(1e5, 1e9, 200)})
"""Two hundred sample sizes; the release, which knows only single numbers, is timed at every 25th of them."""
ASKED = SIZES[::25]

_RELEASE = """
import json, sys, time
from certiformer.core import find
found = {}
for id, (given, sizes) in json.load(sys.stdin).items():
    result = find(id)
    result.evaluate({**given, "n": sizes[0]})
    began = time.process_time()
    points = [result.evaluate({**given, "n": n}) for n in sizes]
    seconds = (time.process_time() - began) / len(sizes)
    found[id] = {"seconds": seconds, "values": [{k: v.value for k, v in p.sound.items()} for p in points]}
json.dump(found, sys.stdout)
"""


@dataclass(frozen=True)
class Line:
    """One thing that was timed: what, what it takes, what was asked for."""

    what: str
    found: str
    target: str
    reached: bool


def lines(release: str | None) -> list[Line]:
    """Everything here; sweeps are compared only where a checkout of the release is given."""
    found = [] if release is None else _sweeps(release)
    return [*found, _single(), _long(), _spectral()]


def _given(id: str) -> dict[str, Any]:
    """The example inputs but n, everything derived written out: what is derived may differ between releases."""
    from certiformer.core import find

    result = find(id)
    required = {entry.name: entry.example for entry in result.inputs if entry.required}
    return {name: value for name, value in result(**required).as_inputs().items() if name != "n" and value is not None}


def _sweeps(release: str) -> list[Line]:
    import certiformer

    asked = {id: (_given(id), ASKED) for id in IDS}
    environment = {**os.environ, "PYTHONPATH": str(Path(release) / "src")}
    told = subprocess.run(
        [sys.executable, "-c", _RELEASE], input=json.dumps(asked), capture_output=True, text=True, env=environment
    )
    if told.returncode:
        raise RuntimeError(told.stderr)
    before = json.loads(told.stdout)
    found = []
    for id, (given, _) in asked.items():
        certiformer.bound(id, n=SIZES[:4], **given)
        seconds, along = _seconds(functools.partial(_along, id, given))
        excess = max(
            along[name][25 * number] / value - 1.0
            for number, values in enumerate(before[id]["values"])
            for name, value in values.items()
            if name in along and 0.0 < value < math.inf
        )
        ratio = len(SIZES) * before[id]["seconds"] / seconds
        what = f"{len(SIZES)} points of `{id}`: release {1e3 * before[id]['seconds']:.3g} ms a point"
        told_now = f"{1e3 * seconds / len(SIZES):.3g} ms a point: {ratio:.3g}x; values at most {excess:.1e} above"
        found.append(Line(what, told_now, "50x, 1e-6", bool(ratio >= 50.0 and excess <= 1e-6)))
    return found


def _along(id: str, given: dict[str, Any]) -> dict[str, Any]:
    import certiformer

    return certiformer.bound(id, n=np.array(SIZES), **given).sound


def _single() -> Line:
    from certiformer.core import find

    result, given = find("li.thm5.3"), _given("li.thm5.3")
    sizes = iter(range(10**6, 10**6 + 10**4))
    result.evaluate({**given, "n": next(sizes)})
    seconds = min(_seconds(lambda: result.evaluate({**given, "n": next(sizes)}))[0] for _ in range(9))
    return Line("one point of `li.thm5.3`", f"{1e3 * seconds:.3g} ms", "20 ms", seconds <= 0.020)


def _long() -> Line:
    import certiformer

    sizes = np.unique(np.round(np.geomspace(1e3, 1e9, 120_000)))[:100_000]
    given = _given("trauger.thm4.1")
    seconds, _ = _seconds(lambda: certiformer.bound("trauger.thm4.1", n=sizes, **given).sound)
    return Line(f"{len(sizes):,} points of `trauger.thm4.1`", f"{seconds:.3g} s", "10 s", seconds <= 10.0)


def _spectral() -> Line:
    from certiformer.measure.spectral import spectral_norms

    rng = np.random.default_rng(0)
    shapes = [*4 * [(768, 768)], (768, 3072), (3072, 768)] * 12
    matrices = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    ours, found = _seconds(lambda: [spectral_norms(matrix) for matrix in matrices])
    theirs, values = _seconds(lambda: [np.linalg.svd(m.astype(np.float64), compute_uv=False)[0] for m in matrices])
    apart = max(n.upper.value / n.lower.value - 1.0 for n in found)
    if any(
        not n.lower.value <= v * (1 + 1e-12) or not v <= n.upper.value * (1 + 1e-12)
        for n, v in zip(found, values, strict=True)
    ):
        raise ArithmeticError("a singular value outside its interval")
    share = ours / theirs
    return Line(
        f"both sides of the spectral norms of {len(matrices)} matrices of BERT's sizes: numpy's SVDs {theirs:.3g} s",
        f"{ours:.3g} s: {share:.0%}; the two sides at most {apart:.1e} apart",
        "40 %, 1e-8",
        share <= 0.4 and apart <= 1e-8,
    )


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = call()
    return time.process_time() - began, found
