"""Every registered result is complete: statement, reference, inputs, evidence, and promises that it keeps."""

import contextlib
import random
from pathlib import Path

import pytest

from certiformer.auditing.completeness import gaps, marks
from certiformer.theory.core import InputError, find, results
from certiformer.theory.core.errors import RangeError
from certiformer.theory.core.promises import broken_promise, example_inputs

ALL = list(results().values())
ROOT = Path(__file__).parents[3]
# Those that optimise covers are slow: fewer points here, more in `make deep`.
SLOW = ("li.thm", "mwigo.", "trauger.cor", "trauger.thm4.2")


@pytest.mark.parametrize("result", ALL, ids=lambda r: r.id)
class TestEveryResult:
    def test_lacks_nothing(self, result):
        assert gaps(result, ROOT, points=2 if result.id.startswith(SLOW) else 6) == []

    def test_whole_numbers_beyond_the_floats_have_a_value_or_a_clear_error(self, result):
        for entry in result.inputs:
            if entry.kind == "integer":
                with contextlib.suppress(InputError, RangeError):
                    result.evaluate({**example_inputs(result), entry.name: 2**64 + 1})


@pytest.mark.deep
@pytest.mark.parametrize("result", ALL, ids=lambda r: r.id)
def test_keeps_its_promise_at_many_points(result):
    assert broken_promise(result, 24, random.Random(f"deep {result.id}")) == ""


def test_marks_name_registered_results():
    for mark, ids in marks(ROOT).items():
        for id in ids:
            assert find(id).id == id, f"{mark} names {id}"


def test_no_results_of_the_template():
    assert "example.thm1" not in results()
