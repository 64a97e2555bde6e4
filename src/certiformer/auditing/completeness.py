"""What a result still lacks: statement, inputs, example, promise, proof note, vector, tests, attack, page.

What belongs to the repository (proof note, vectors, tests, pages) is looked for in a checkout; a result of another
package is checked for the rest alone.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from certiformer.auditing.attack import VERSIONS, Claim
from certiformer.auditing.attacks import reason
from certiformer.auditing.budget import attacks_on
from certiformer.theory.core import CertiformerError, Quantity, Result, Status
from certiformer.theory.core.promises import broken_promise, example_inputs

MARKS = ("independent", "property_of", "counterexample")


class Gap(NamedTuple):
    """Something that is missing, and what to do about it."""

    what: str
    remedy: str


def checkout(start: Path) -> Path | None:
    """The repository that a folder belongs to, if it is one of certiformer."""
    for folder in (start, *start.parents):
        if (folder / "docs" / "proofs").is_dir() and (folder / "tests" / "vectors").is_dir():
            return folder
    return None


def gaps(result: type[Result], root: Path | None, points: int = 4) -> list[Gap]:
    """What the result lacks; `root` is the checkout in which its proof, vector and tests are looked for."""
    found = [*_statement(result), *_inputs(result), *_example(result)]
    if not found:
        broken = broken_promise(result, points, random.Random(result.id))
        if broken:
            found.append(
                Gap(f"monotone = {result.monotone!r} does not hold: {broken}", "correct the promise, or the bound")
            )
    found += _attack(result)
    return found if root is None else [*found, *_in_the_repository(result, root)]


def _statement(result: type[Result]) -> Iterator[Gap]:
    told = result.sections
    for name, words in (("a title", result.title), ("Sound:", told.sound), ("Because:", result.reason)):
        if not words:
            yield Gap(f"the docstring has no {name}", "see docs/add-a-bound.md")
    if result.has_printed():
        if not told.printed:
            yield Gap("the docstring has no Printed:, although `printed` gives numbers", "say what the paper claims")
        if result.status is Status.NONE:
            yield Gap("status is NONE, although something was printed", "choose the Status that the claim has")
    if result.status in (Status.FALSE, Status.CONSTANT, Status.UNPROVEN) and not result.defects:
        yield Gap(f"called {result.status.value!r} without Defects:", "say what is wrong, with the counterexample")


def _inputs(result: type[Result]) -> Iterator[Gap]:
    names = [name for entry in result.inputs for name in (entry.name, *entry.aliases)]
    for name in {name for name in names if names.count(name) > 1}:
        yield Gap(f"two inputs are called {name}", "rename one, or drop an alias")
    for entry in result.inputs:
        if hasattr(Result, entry.name):
            yield Gap(f"the input {entry.name} hides an attribute of Result", "rename it")
        if not entry.meaning or entry.example is None:
            yield Gap(f"the input {entry.name} has no meaning or no example", "fill them in")
        if entry.optional and entry.kind != "flag" and not entry.left_out:
            yield Gap(f"what happens when {entry.name} is left out is not said", "add otherwise=..., or a factory")
    for name in result.directions().keys() - set(names):
        yield Gap(f"monotone names {name}, which is no input", "correct the promise")


def _example(result: type[Result]) -> Iterator[Gap]:
    try:
        evaluation = result.evaluate(example_inputs(result))
        typed = result.evaluate(dict(word.split("=", 1) for word in result.example.split()[3:]))
    except (CertiformerError, NotImplementedError) as error:
        yield Gap(f"its example fails: {error}", f"run {result.example}")
        return
    if not evaluation.sound:
        yield Gap("`sound` returns nothing at the example", "return at least one variant")
    if any(math.isnan(bound.value) for bound in (*evaluation.printed.values(), *evaluation.sound.values())):
        yield Gap("a value at the example is nan", f"run {result.example}")
    if {k: b.value for k, b in typed.sound.items()} != {k: b.value for k, b in evaluation.sound.items()}:
        yield Gap("the example as typed gives other numbers than the example in Python", f"run {result.example}")
    only_constants = all(bound.bounds is Quantity.CONSTANT for bound in evaluation.sound.values())
    if only_constants and result.bounds is not Quantity.CONSTANT:
        yield Gap(f"no variant bounds the {result.bounds.value}", "use upper_bound or lower_bound")


def _attack(result: type[Result]) -> Iterator[Gap]:
    for version in VERSIONS:
        if version == "printed" and not result.has_printed():
            continue
        claim = Claim(result.id, version)
        if not attacks_on(claim) and reason(claim) is None:
            yield Gap(
                f"the {version} side has no attack",
                "write one in auditing/attacks/, or say in REASONS why there is none",
            )


def _in_the_repository(result: type[Result], root: Path) -> Iterator[Gap]:
    if not (result.proof and (root / result.proof).is_file()):
        yield Gap("there is no proof note", f"write {result.proof}")
    if result.id not in _vectors(root):
        yield Gap("there is no vector", f"add one to tests/vectors/{result.paper.key}.json")
    needed = MARKS if result.status is Status.FALSE else MARKS[:2]
    for mark in needed:
        if result.id not in marks(root)[mark]:
            yield Gap(
                f"no test has the mark {mark}", f'add @pytest.mark.{mark}("{result.id}") in tests/theory/theorems/'
            )
    if f"`{result.id}`" not in (root / "docs" / "results.md").read_text(encoding="utf-8"):
        yield Gap("it is not in docs/results.md", "run make docs")


@functools.cache
def _vectors(root: Path) -> frozenset[str]:
    return frozenset(
        entry["id"]
        for path in (root / "tests" / "vectors").glob("*.json")
        for entry in json.loads(path.read_text(encoding="utf-8"))
        if isinstance(entry, dict) and "id" in entry
    )


@functools.cache
def marks(root: Path) -> dict[str, set[str]]:
    """Mark name -> ids of results, read from the source of every test file."""
    found: dict[str, set[str]] = {mark: set() for mark in MARKS}
    for path in (root / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(mark in text for mark in MARKS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MARKS:
                found[node.func.attr] |= {str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)}
    return found
