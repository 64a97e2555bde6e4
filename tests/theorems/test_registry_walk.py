"""Every registered result is complete: statement, reference, inputs, evidence, and promises that it keeps."""

import contextlib
import importlib.util
import math
import random
from pathlib import Path

import pytest

from certiformer.core import InputError, Status, find, results
from certiformer.core.errors import RangeError

_spec = importlib.util.spec_from_file_location("evidence", Path(__file__).with_name("evidence.py"))
evidence = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(evidence)

ALL = list(results().values())
ROOT = Path(__file__).parents[2]


def example_inputs(result):
    return {entry.name: entry.example for entry in result.inputs if entry.required}


@pytest.fixture(scope="module")
def marks():
    return evidence.collect()


@pytest.mark.parametrize("result", ALL, ids=lambda r: r.id)
class TestEveryResult:
    def test_tells_its_story(self, result):
        story = (
            result.title,
            result.place,
            result.paper.reference,
            result.sections.printed if result.has_printed() else "-",
        )
        assert all((*story, result.sections.sound, result.reason))
        assert not result.has_printed() or result.status is not Status.NONE
        if result.status in (Status.FALSE, Status.CONSTANT, Status.UNPROVEN):
            assert result.defects

    def test_inputs_have_meaning_range_and_example(self, result):
        names = [name for entry in result.inputs for name in (entry.name, *entry.aliases)]
        assert len(names) == len(set(names))
        for entry in result.inputs:
            assert entry.meaning
            assert entry.range
            assert entry.example is not None
            if entry.optional and entry.kind != "flag":
                assert entry.left_out, f"{entry.name} may be left out, but what happens then is not said"

    def test_its_example_works(self, result):
        evaluation = result.evaluate(example_inputs(result))
        assert evaluation.sound
        for bound in (*evaluation.printed.values(), *evaluation.sound.values()):
            assert not math.isnan(bound.value)
        words = dict(word.split("=", 1) for word in result.example.split()[3:])
        again = result.evaluate(words)
        assert {k: b.value for k, b in again.sound.items()} == {k: b.value for k, b in evaluation.sound.items()}

    def test_proof_note_exists(self, result):
        assert result.proof, "where is the proof?"
        assert (ROOT / result.proof).is_file()

    def test_evidence(self, result, marks):
        assert result.id in marks["independent"], "no test whose expectation is independent of the catalogue"
        assert result.id in marks["property_of"], "no property test"
        if result.status is Status.FALSE:
            assert result.id in marks["counterexample"], "called false, but no counterexample is tested"

    def test_whole_numbers_beyond_the_floats_have_a_value_or_a_clear_error(self, result):
        for entry in result.inputs:
            if entry.kind == "integer":
                with contextlib.suppress(InputError, RangeError):
                    result.evaluate({**example_inputs(result), entry.name: 2**64 + 1})

    def test_keeps_its_promise_of_monotonicity(self, result):
        # Those that optimise covers are slow: half as many points here, more in `make deep`.
        keeps_its_promise(result, 2 if result.id.startswith(SLOW) else 6, random.Random(result.id))


SLOW = ("li.thm", "mwigo.", "trauger.cor", "trauger.thm4.2")


@pytest.mark.deep
@pytest.mark.parametrize("result", ALL, ids=lambda r: r.id)
def test_keeps_its_promise_at_many_points(result):
    keeps_its_promise(result, 24, random.Random(f"deep {result.id}"))


def keeps_its_promise(result, points, rng):
    """At every point each input that the promise names is enlarged: no variant that applies moves the wrong way.

    Points lie near the example and far from it in turn, with and without the inputs that may be left out.
    """
    by_name = {entry.name: entry for entry in result.inputs}
    for number in range(points):
        spread, factor = ((0.3, 1.5), (3.0, 20.0))[number % 2]
        base = {name: jitter(by_name[name], value, rng, spread) for name, value in example_inputs(result).items()}
        for entry in result.inputs:
            if not entry.required and rng.random() < 0.5:
                base[entry.name] = jitter(entry, entry.example, rng, spread)
        below = evaluated(result, base)
        for name, sign in result.directions().items():
            entry, at, low = by_name[name], base, below
            if base.get(name) is None:
                at = {**base, name: jitter(entry, entry.example, rng, spread)}
                low = evaluated(result, at)
            larger = enlarged(entry, at[name], factor)
            high = None if larger is None else evaluated(result, {**at, name: larger})
            if low is None or high is None:
                continue
            for variant, bound in low.sound.items():
                if bound.bounds not in (None, result.bounds) or not bound.applies:
                    continue
                if variant not in high.sound or not high.sound[variant].applies:
                    continue
                before, after = bound.value, high.sound[variant].value
                slack = 1e-6 * max(abs(before), abs(after)) if math.isfinite(before + after) else 0.0
                assert sign * (after - before) >= -slack or before == after, (
                    f"{variant}: {name} {at[name]} -> {larger} moved it from {before} to {after} at {at}"
                )


def evaluated(result, inputs):
    """The result there; None where inputs contradict each other, which far from the example happens."""
    try:
        return result.evaluate(inputs)
    except (InputError, RangeError):
        return None


def jitter(entry, value, rng, spread):
    if entry.kind == "real":
        candidate = value * math.exp(rng.uniform(-spread, spread))
    elif entry.kind == "integer":
        candidate = max(int(entry.low), round(value * math.exp(rng.uniform(-spread, spread))))
    else:
        return value
    try:
        return entry.parse(candidate)
    except ValueError:
        return value


def enlarged(entry, value, factor):
    if entry.kind == "real":
        candidate = value * factor if value > 0 else 0.1
    elif entry.kind == "integer":
        candidate = max(value + 1, round(value * factor))
    else:
        return None
    try:
        return entry.parse(candidate)
    except ValueError:
        return None


def test_marks_name_registered_results(marks):
    for mark, ids in marks.items():
        for id in ids:
            assert find(id).id == id, f"{mark} names {id}"


def test_no_results_of_the_template():
    assert "example.thm1" not in results()
