"""A bound is never nan, adds up, rounds outward, and says in JSON what JSON cannot."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.core import (
    Bound,
    Quantity,
    assumed,
    lower_bound,
    printed_value,
    rounding,
    side_number,
    stated,
    upper_bound,
    verified,
)


def test_nan_is_refused():
    with pytest.raises(ArithmeticError, match="nan"):
        Bound(math.nan)
    with pytest.raises(ArithmeticError, match="nan"):
        Bound(1.0, terms={"a": math.nan})


def test_additive_terms_must_add_up():
    assert Bound(3.0, terms={"a": 1.0, "b": 2.0}, additive=True).value == 3.0
    with pytest.raises(ArithmeticError, match="add up"):
        Bound(3.0, terms={"a": 1.0, "b": 1.0}, additive=True)
    assert upper_bound(3.0, clip=1.0, terms={"a": 1.0, "b": 2.0}, additive=True).value == 1.0


@given(st.floats(1e-300, 1e300))
def test_rounding_is_outward_and_invisible(value):
    assert rounding.down(value) < value < rounding.up(value)
    assert rounding.up(value) == pytest.approx(value, rel=1e-11)
    assert rounding.down(-value) < -value < rounding.up(-value)


def test_rounding_leaves_zero_and_infinity_alone():
    assert rounding.up(0.0) == rounding.down(0.0) == 0.0
    assert rounding.up(math.inf) == math.inf
    assert rounding.down(-math.inf) == -math.inf
    assert rounding.up(1.0, log=1000.0) - 1.0 == pytest.approx(1e-9)
    assert rounding.ceil_up(4.0) == 5
    assert rounding.ceil_up(3.5) == 4
    assert rounding.ceil_up(0.0) == 0


def test_clipping_is_exact_and_said():
    bound = upper_bound(7.0, clip=1.0)
    assert bound.value == 1.0
    assert bound.clipped
    assert bound.vacuous
    below = upper_bound(0.5, clip=1.0)
    assert not below.clipped
    assert below.vacuous is False
    assert below.trivial == 1.0
    assert upper_bound(0.5).vacuous is None


def test_lower_bounds_round_down():
    assert lower_bound(0.5).value < 0.5
    assert lower_bound(-0.5, clip=0.0).value == 0.0
    assert lower_bound(-0.5, clip=0.0).clipped


def test_values_beyond_floats_keep_their_logarithm():
    bound = upper_bound(math.inf, ln=2302.585092994046)
    assert bound.overflowed
    assert bound.log10 == pytest.approx(1000.0)
    document = bound.as_json()
    assert document["value"] is None
    assert document["log10"] == pytest.approx(1000.0)
    assert upper_bound(math.inf, ln=math.log(5.0)).value == pytest.approx(5.0)


def test_json_of_infinity_zero_and_negative_numbers():
    assert upper_bound(math.inf).as_json()["value"] == "inf"
    assert printed_value(-math.inf).as_json()["value"] == "-inf"
    assert printed_value(-2.0).as_json()["log10"] is None
    assert upper_bound(0.0).as_json()["log10"] == "-inf"
    json.dumps(upper_bound(math.inf).as_json(), allow_nan=False)


def test_hypotheses_decide_whether_a_bound_applies():
    assert upper_bound(1.0, hypotheses=(assumed("x"), verified("y", True))).applies
    assert not upper_bound(1.0, hypotheses=(verified("y", False),)).applies
    assert not upper_bound(1.0, hypotheses=(stated("claimed by nobody", None, "claim=1"),)).applies
    check = verified("a <= b", False, 3.0)
    assert check.as_json() == {"id": "b", "requires": "a <= b", "state": "fails", "why": "here 3"}
    assert assumed("i.i.d.").as_json()["state"] == "open"
    assert stated("odd", True, "odd=1").as_json()["state"] == "stated"
    assert stated("odd", False, "odd=1").as_json()["state"] == "fails"


def test_side_numbers_bound_nothing():
    assert side_number(3.0).bounds is Quantity.CONSTANT
    assert side_number(3.0, "gamma").as_json()["note"] == "gamma"
    assert side_number(3.0).as_json()["bounds"] == "constant"


def test_terms_are_frozen():
    bound = upper_bound(1.0, terms={"a": 1.0})
    with pytest.raises(TypeError):
        bound.terms["a"] = 2.0
