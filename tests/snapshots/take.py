"""Write down what a release answers, so that a rebuild can be compared with it: python tests/snapshots/take.py NAME.

For every result: about 30 inputs, log-uniform around the examples, every optional input left out in turn, and the
story that `explain --json` tells; for a handful of command lines: the exit code. Run it with the release's own `src`
on PYTHONPATH. Results that optimise get as many quick points as fit into a second.
"""

import json
import lzma
import random
import sys
import time
from pathlib import Path

import certiformer
from snapshots.answers import COMMANDS, answer, exit_code, story

POINTS, SECONDS, SEED = 30, 0.7, 20260


def main(name: str) -> None:
    document = {"results": {}, "commands": [[words, exit_code(words)] for words in COMMANDS]}
    for result in certiformer.results():
        document["results"][result.id] = {"explain": story(result.id), "points": list(_points(result))}
    text = json.dumps(document, separators=(",", ":"))
    path = Path(__file__).parent / f"{name}.json.xz"
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    count = sum(len(entry["points"]) for entry in document["results"].values())
    sys.stdout.write(f"{path}: {len(document['results'])} results, {count} points, {path.stat().st_size} bytes\n")


def _points(result):
    """Pairs of given inputs and answer: enough of them, few refusals, none that takes long, all together a second."""
    total, refused, kept = 0.0, 0, 0
    for given in _givens(result, random.Random(f"{SEED} {result.id}")):
        started = time.process_time()
        found = answer(result.id, given)
        seconds = time.process_time() - started
        refused += "error" in found
        if seconds > SECONDS / 4 or ("error" in found and refused > 3):
            continue
        total, kept = total + seconds, kept + 1
        yield [given, found]
        if kept == POINTS or total > SECONDS:
            return


def _givens(result, draw):
    required = [entry for entry in result.inputs if entry.required]
    others = [entry for entry in result.inputs if not entry.required]
    everything = {entry.name: entry.example for entry in result.inputs}
    givens = [{entry.name: entry.example for entry in required}, everything]
    while len(givens) < 4 * POINTS:
        base = _near(result.inputs, draw)
        givens += [{name: value for name, value in base.items() if name != entry.name} for entry in others]
        few = {entry.name for entry in others if draw.random() < (0.8 if entry.kind == "reals" else 0.4)}
        givens.append({name: value for name, value in _near(result.inputs, draw).items() if name not in few})
    givens = givens[:2] + draw.sample(givens[2:], len(givens) - 2)
    unique = {json.dumps(given, sort_keys=True): given for given in givens}
    return list(unique.values())


def _near(inputs, draw):
    return {entry.name: _near_one(entry, draw) for entry in inputs}


def _near_one(entry, draw):
    if entry.kind == "flag":
        return draw.random() < 0.5
    if entry.kind == "choice":
        return draw.choice(entry.choices)
    if entry.kind in ("reals", "integers"):
        return [_number(entry, item, draw) for item in entry.example]
    return _number(entry, entry.example, draw)


def _number(entry, example, draw):
    """Within two decades of the example, inside the allowed range, with few digits so that the file stays small."""
    whole = entry.kind in ("integer", "integers")
    for _ in range(20):
        value = float(f"{(example or 0.1) * 10 ** draw.uniform(-1 if whole else -2, 1 if whole else 2):.4g}")
        value = round(value) if whole else value
        if entry.low + (entry.low_open and 1e-12) <= value <= entry.high - (entry.high_open and 1e-12):
            return value
    return example


if __name__ == "__main__":
    main(sys.argv[1])
