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
_SWEPT, _ROUNDS, _TURNS = 10, 5, 6
NOISE = 1.05
"""Two measurements of the same code differ by a few per cent."""

_RELEASE = """
import json, sys, time
try:
    from certiformer.theory.core import find
except ImportError:
    from certiformer.core import find  # where it was in the release
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


_POINTS = """
import json, sys, time
try:
    from certiformer.theory.core import find
except ImportError:
    from certiformer.core import find
try:
    from certiformer.theory.core.arrays import evaluate_along
except ImportError:
    evaluate_along = None  # the release knows only single numbers

def sweep(result, given, name, values):
    if not name:
        return [result.evaluate(given) for value in values]
    if evaluate_along is None:
        return [result.evaluate({**given, name: value}) for value in values]
    return evaluate_along(result, given, {name: tuple(values)})

for line in sys.stdin:
    id, (given, name, values), times = json.loads(line)
    try:
        result, rounds = find(id), []
        while len(rounds) < times and sum(rounds) < 0.1:
            began = time.process_time()
            sweep(result, given, name, values)
            rounds.append(time.process_time() - began)
        found = min(rounds) / len(values)
    except Exception:
        found = None  # the release has other results, or other inputs
    print(json.dumps(found), flush=True)
"""


@dataclass(frozen=True)
class Line:
    """One thing that was timed: what, what it takes, what was asked for."""

    what: str
    found: str
    target: str
    reached: bool


def sections(release: str | None) -> list[tuple[str, Callable[[], list[Line]]]]:
    """Everything here, by name; sweeps are compared only where a checkout of the release is given."""
    found: list[tuple[str, Callable[[], list[Line]]]] = []
    if release is not None:
        found += [("sweeps", lambda: _sweeps(release)), ("every id", lambda: _every(release))]
    return [
        *found,
        ("one point", lambda: [_single()]),
        ("many points", lambda: [_long()]),
        ("spectral norms", lambda: [_spectral()]),
    ]


def _given(id: str) -> dict[str, Any]:
    """The example inputs but n, everything derived written out: what is derived may differ between releases."""
    from certiformer.theory.core import find

    result = find(id)
    required = {entry.name: entry.example for entry in result.inputs if entry.required}
    return {name: value for name, value in result(**required).as_inputs().items() if name != "n" and value is not None}


def _asked_of(release: str, program: str, asked: Any) -> Any:
    """What a program says of `asked`, both as JSON, run with the release."""
    environment = {**os.environ, "PYTHONPATH": str(Path(release) / "src")}
    told = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(asked), capture_output=True, text=True, env=environment
    )
    if told.returncode:
        raise RuntimeError(told.stderr)
    return json.loads(told.stdout)


def _every(release: str) -> list[Line]:
    """Seconds per point of all other results over a sweep of one input, n if there is one: ours as an array."""
    from certiformer.theory.core.registry import results

    asked = {id: _swept(result) for id, result in results().items() if id not in IDS}
    before, now = _in_turn((release, str(Path(__file__).parents[1])), asked)
    shared = [id for id in asked if before[id] is not None and now[id] is not None]
    slower = {id: now[id] / before[id] for id in shared if now[id] > NOISE * before[id]}
    worst = sorted(slower, key=slower.__getitem__, reverse=True)[:5]
    total = sum(before[id] for id in shared) / sum(now[id] for id in shared)
    named = ", ".join(f"`{id}` {slower[id]:.2g}" for id in worst)
    return [
        Line(
            f"{_SWEPT} points of each of {len(shared)} other results",
            f"{len(shared) - len(slower)} as fast as in the release, {len(slower)} slower; all of them {total:.2g}x"
            + (f"; the slowest beside the release: {named} times" if worst else ""),
            f"none slower by more than {NOISE - 1.0:.0%}",
            not slower,
        )
    ]


def _swept(result: Any) -> tuple[dict[str, Any], str, list[float]]:
    """The example inputs but one, that input, and values from its example on; no name where none can vary."""
    from certiformer.theory.core import CertiformerError

    at = result(**{entry.name: entry.example for entry in result.inputs if entry.required})
    given = {k: v for k, v in at.as_inputs().items() if v is not None and k not in at.derived}
    numbers = [entry for entry in result.inputs if entry.kind in ("real", "integer") and entry.name in given]
    for entry in sorted(numbers, key=lambda each: (each.name != "n", each.kind != "real")):
        start = given[entry.name]
        step = 1 if entry.kind == "integer" else 0.1 * min(abs(start), entry.high - start) / _SWEPT
        values = [start + number * step for number in range(_SWEPT)]
        try:
            result.evaluate({**given, entry.name: values[-1]})
        except CertiformerError:
            continue
        if step:
            return {name: value for name, value in given.items() if name != entry.name}, entry.name, values
    return given, "", [0.0] * _SWEPT


def _in_turn(places: tuple[str, ...], asked: dict[str, Any]) -> list[dict[str, float | None]]:
    """The least seconds per point of every result in each checkout; the checkouts take turns, result by result."""
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", _POINTS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(place) / "src")},
        )
        for place in places
    ]
    found: list[dict[str, float | None]] = [{} for _ in places]
    for id, what in asked.items():
        for _ in range(_TURNS):
            for program, seconds in zip(programs, found, strict=True):
                if program.stdin is None or program.stdout is None:
                    raise RuntimeError("a program without its pipes")
                program.stdin.write(json.dumps([id, what, _ROUNDS]) + "\n")
                program.stdin.flush()
                told = json.loads(program.stdout.readline())
                known = seconds.get(id, math.inf)
                seconds[id] = None if told is None or known is None else min(told, known)
    for program in programs:
        program.communicate()
    return found


def _sweeps(release: str) -> list[Line]:
    import certiformer

    asked = {id: (_given(id), ASKED) for id in IDS}
    before = _asked_of(release, _RELEASE, asked)
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
    from certiformer.theory.core import find

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
    from certiformer.theory.measure.spectral import spectral_norms

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
