"""The net under the rebuild: today's answers against those of the release before it.

Every difference from `snapshots/d7ecea6.json.xz` must match an entry of `snapshots/differences.toml`, with its reason:
`id` and `where` are patterns (fnmatch); `change` is "any" or "smaller" (an upper bound that only became tighter).
`where` is a path: `sound/S1/value`, `printed/main/terms/x`, `best`, `error`, `explain/inputs/Bx/required`, `command`.
"""

import functools
import json
import lzma
import math
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from certiformer.core import results
from snapshots.answers import answer, exit_code, story

FOLDER = Path(__file__).parent / "snapshots"
TOLERANCE = 1e-6  # what the rebuild may move a value by


@functools.cache
def snapshot():
    return json.loads(lzma.decompress((FOLDER / "d7ecea6.json.xz").read_bytes()))


@functools.cache
def allowed():
    return tomllib.loads((FOLDER / "differences.toml").read_text()).get("difference", [])


def differences(before, now, where=""):
    """Paths at which two documents differ, with both values; a missing entry is None."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from differences(before.get(key), now.get(key), f"{where}/{key}" if where else key)
    elif not same(before, now):
        yield where, before, now


def same(before, now):
    if isinstance(before, float | int) and isinstance(now, float | int):
        return math.isclose(before, now, rel_tol=1e-9, abs_tol=1e-300) or before == now
    if isinstance(before, str) and isinstance(now, str):
        return before.split() == now.split()
    return before == now


def excused(id, where, before, now):
    changes = ("any", "smaller") if is_smaller(before, now) else ("any",)
    return any(
        fnmatchcase(id, entry["id"]) and fnmatchcase(where, entry["where"]) and entry["change"] in changes
        for entry in allowed()
    )


def is_smaller(before, now):
    """A number that did not grow (infinity counts as large); anything else is a change."""
    numbers = [math.inf if item in ("inf", None) else item for item in (before, now)]
    return all(isinstance(item, float | int) for item in numbers) and numbers[1] <= numbers[0] * (1 + TOLERANCE)


def report(id, found, given=""):
    unexcused = [(where, *pair) for where, *pair in found if not excused(id, where, *pair)]
    lines = [f"  {where}: {before!r} -> {now!r}" for where, before, now in unexcused[:12]]
    assert not unexcused, "\n".join([f"{id}: {len(unexcused)} differences from the snapshot {given}", *lines])


def by_name(explained):
    """Inputs as a dictionary, so that a difference names the input; lists of sentences as one text."""
    document = {
        key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in explained.items()
    }
    return document | {"inputs": {entry["name"]: entry for entry in explained["inputs"]}}


@pytest.mark.parametrize("id", sorted(snapshot()["results"]))
def test_answers_are_those_of_the_release(id):
    assert id in results(), f"{id} was there in the release"
    for given, before in snapshot()["results"][id]["points"]:
        report(id, list(differences(before, answer(id, given))), given)


@pytest.mark.parametrize("id", sorted(snapshot()["results"]))
def test_explanations_are_those_of_the_release(id):
    before, now = by_name(snapshot()["results"][id]["explain"]), by_name(story(id))
    report(id, [(f"explain/{where}", *pair) for where, *pair in differences(before, now)])


def test_exit_codes_are_those_of_the_release():
    found = [(words, before, exit_code(words)) for words, before in snapshot()["commands"]]
    report("command", [("command", before, (words, now)) for words, before, now in found if before != now])


def test_every_difference_has_a_reason():
    for entry in allowed():
        assert set(entry) == {"id", "where", "change", "reason"}, entry
        assert entry["change"] in ("any", "smaller"), entry
        assert len(entry["reason"]) > 15, entry
