"""The CHANGELOG's tables old -> new are true, and complete for what 0.1.0 documented."""

import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import certiformer
from certiformer.cli import MOVED
from certiformer.theory.core.errors import CertiformerError
from surface.record import HERE, fields, options

ROOT = Path(__file__).parents[2]
DOCUMENTED = (HERE / "documented-0.1.0.txt").read_text().split("\n")


def rows(kind):
    """The rows of the table whose head is `old KIND`: two cells each."""
    text = (ROOT / "CHANGELOG.md").read_text().partition("## 0.1.0")[0]
    table = text.partition(f"| old {kind} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table]


def code(cell):
    """What a cell has in code; a name that begins with a point stands beside the first."""
    words = re.findall(r"`([^`]+)`", cell)
    return [words[0].rpartition(".")[0] + word if word.startswith(".") else word for word in words]


def resolve(name):
    """The object of a dotted name: modules as far as they go, then attributes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part, None) or inspect.get_annotations(found)[part]
        return found
    raise AttributeError(name)


def exists(name):
    try:
        return resolve(name) is not None
    except (AttributeError, KeyError, TypeError):
        return False


def successors():
    """Old name -> new name, or None where it is gone or more than one took its place."""
    found = {}
    for old, new in rows("import"):
        if "the module" in old:  # a function has the same name
            continue
        left, right = code(old), [] if new.startswith("gone") else code(new)
        found |= dict(zip(left, right if len(right) == len(left) else [None] * len(left), strict=True))
    return found


def current(name, moves):
    """Where a name of 0.1.0 is now: the longest row that speaks of it."""
    known = [old for old in moves if name == old or name.startswith(old + ".")]
    if not known:
        return name
    longest = max(known, key=len)
    return None if moves[longest] is None else moves[longest] + name[len(longest) :]


def test_every_row_of_the_imports_is_true():
    for old, new in rows("import"):
        for name in code(old):
            assert "the module" in old or not exists(name), f"{name} is still there"
        for name in code(new):
            assert exists(name), f"{name} is not there"


def test_every_name_and_keyword_that_was_documented_has_its_place_or_its_row():
    moves, gone = successors(), {word for old, _ in rows("keyword") for call in code(old) for word in keywords(call)}
    for line in DOCUMENTED:
        name, _, given = line.partition("(")
        if not name.startswith("certiformer.") or (new := current(name, moves)) is None:
            continue
        assert exists(new), f"{name} is neither {new} nor in the table"
        if given.strip(")"):
            now = inspect.signature(resolve(new)).parameters
            if not any(one.kind is one.VAR_KEYWORD for one in now.values()):
                lost = set(given.strip(")").split(", ")) - set(now)
                assert {(resolve(new), keyword) for keyword in lost} <= gone, f"{name}: {sorted(lost)}"


def keywords(call):
    """(function, keyword) for each of `f(a=, b=)`."""
    name, _, given = call.partition("(")
    function = resolve(name if name.startswith("certiformer.") else f"certiformer.{name}")
    return [(function, keyword.strip().rstrip("=")) for keyword in given.rstrip(")").split(",")]


@pytest.mark.parametrize(("old", "new"), rows("keyword"), ids=lambda cell: cell[:40])
def test_an_old_keyword_is_an_error_that_names_the_new_one(old, new):
    for function, keyword in [pair for call in code(old) for pair in keywords(call)]:
        assert keyword not in inspect.signature(function).parameters
        if not new.startswith("gone"):
            with pytest.raises(CertiformerError) as error:
                function(**{keyword: 1})
            assert code(new)[0].replace("NAME", keyword) in str(error.value)


@pytest.mark.parametrize("verb", ["compare", "gate", "look", "select", "watch"])
def test_what_is_declared_is_said_so_by_every_verb(verb):
    with pytest.raises(CertiformerError, match=r"declaration=Declaration\(metric=\.\.\.\)"):
        getattr(certiformer, verb)("x.csv", metric="f1")


def test_a_column_is_no_confidence():
    with pytest.raises(CertiformerError, match=r"declaration=Declaration\(confidence_column='sure'\)"):
        certiformer.select("x.csv", error=0.1, confidence="sure")


def test_the_options_that_moved_are_those_of_the_table():
    told = {}
    for old, new in rows("option"):
        for command in code(old):
            verb, *words = command.split()
            option = [word for word in words if not word.isupper() or word.startswith("-")]
            if option:
                told.setdefault(verb, {})[option[-1]] = code(new)[0]
    assert {verb: set(gone) for verb, gone in told.items()} == {verb: set(gone) for verb, gone in MOVED.items()}
    for verb, gone in told.items():
        for option, new in gone.items():
            assert MOVED[verb][option].startswith(new)


def test_every_option_that_was_documented_is_there_or_in_the_table():
    for line in DOCUMENTED:
        if not line or line.startswith("certiformer."):
            continue
        verb, *inner, option = line.split()
        now = options(verb)
        for word in inner:
            now = now.get(word, ())
        assert option in now or option in MOVED[verb] or set(inner) & set(MOVED[verb]), line


@pytest.mark.parametrize(("old", "new"), rows("JSON field"), ids=lambda cell: cell[:40])
def test_old_fields_are_gone_from_recorded_answers_and_new_ones_are_there(old, new):
    told, _, names = old.partition(": ")
    for verb in code(told) if "the " not in names and " without " not in told else ():
        place = HERE / "walks" / f"{verb}.json"
        if place.exists():
            there = fields(json.loads(place.read_text()))
            assert not there & set(code(names))
            assert set(code(new)) <= there | {path.removesuffix("[]") for path in there} | {"decisions[]"}
