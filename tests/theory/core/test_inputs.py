"""Inputs: what is accepted, and errors that name the input, what it got, what is allowed, and an example."""

import math
from dataclasses import replace

import numpy as np
import pytest

from certiformer.theory.core import InputError, UnknownNameError, choice, count, derived, flag, integers, real, reals
from certiformer.theory.core.inputs import InputTable, check_inputs

ENTRIES = tuple(
    replace(entry, name=name)
    for name, entry in {
        "eps": real("radius", example=0.5),
        "q": real("rate", low_open=False, high=1.0, high_open=False, example=0.1),
        "n": count("sample size", aliases=("m", "N"), example=1000),
        "C": reals("constants", example=(1.0, 2.0)),
        "j": integers("indices", example=(0, -1)),
        "activation": choice("which", ("tanh", "erf"), default="tanh"),
        "odd": flag("odd activation"),
        "rho": real("half diameter", factory=derived("Bx", lambda x: x.Bx)),
    }.items()
)
GOOD = {"eps": "0.5", "q": "0", "n": "1e6", "C": "1,2,3", "j": "0,-2"}


def parse(**changes):
    return check_inputs(InputTable(ENTRIES), {**GOOD, **changes}, "certiformer bound x")


def test_text_becomes_numbers():
    values = parse(odd="yes", rho="2")
    assert values.pop("C") == (1.0, 2.0, 3.0)
    assert values.pop("j") == (0, -2)
    assert values == {"eps": 0.5, "q": 0.0, "n": 1_000_000, "activation": "tanh", "odd": True, "rho": 2.0}
    assert isinstance(values["n"], int)


def test_python_values_are_welcome():
    assert parse(C=np.array([1.0, 2.0]))["C"] == (1.0, 2.0)
    assert parse(C=[1, 2])["C"] == (1.0, 2.0)
    assert parse(C=4)["C"] == (4.0,)
    assert parse(C="[1, 2]")["C"] == (1.0, 2.0)
    assert parse(n=10**30)["n"] == 10**30


def test_defaults_and_derived():
    values = parse()
    assert values["activation"] == "tanh"
    assert values["odd"] is None
    assert values["rho"] is None


def test_aliases():
    given = {k: v for k, v in GOOD.items() if k != "n"}
    assert check_inputs(InputTable(ENTRIES), {**given, "N": 7}, "")["n"] == 7
    with pytest.raises(InputError, match="one value, not two"):
        check_inputs(InputTable(ENTRIES), {**GOOD, "m": 7}, "")


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("eps", "0"), ("eps", "-1"), ("eps", "abc"), ("eps", "nan"), ("eps", "inf"), ("eps", ""), ("eps", None),
        ("q", "1.01"), ("q", "-0.1"), ("n", "0"), ("n", "2.5"), ("n", "1e400"), ("n", True), ("C", ""), ("C", "1,x"),
        ("C", "1,-2"), ("C", "1,,2"), ("C", "1,nan"),
        ("j", "0.5"), ("activation", "relu"), ("odd", "2"), ("odd", "maybe"),
    ],
)  # fmt: skip
def test_bad_values_are_named(name, bad):
    with pytest.raises(InputError) as caught:
        parse(**{name: bad})
    message = str(caught.value)
    assert message.startswith(f"{name}: got {bad!r}, expected ")
    assert f"{name}=" in message


def test_missing_inputs_are_listed_with_an_example():
    with pytest.raises(InputError, match=r"Missing: eps, n\. For example: certiformer bound x"):
        check_inputs(
            InputTable(ENTRIES), {k: v for k, v in GOOD.items() if k not in ("eps", "n")}, "certiformer bound x"
        )


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown input 'epz'; did you mean eps\?.*The inputs are eps, q, n"):
        parse(epz=1)


def test_ranges_in_words():
    assert real("", low=-math.inf).range == "a number (finite)"
    assert real("", low=-math.inf, high=3.0).range == "a number below 3 (finite)"
    assert real("", low=-math.inf, high=3.0, high_open=False).range == "a number at most 3 (finite)"
    assert real("", low_open=False).range == "a number at least 0 (finite)"
    assert ENTRIES[1].range == "a number in [0, 1]"
    assert real("", high=1.0).range == "a number in (0, 1)"
    assert ENTRIES[2].range == "a whole number at least 1 (finite)"
    assert ENTRIES[3].range == "a comma-separated list of numbers above 0 (finite)"
    assert ENTRIES[4].range == "a comma-separated list of whole numbers (finite)"
    assert ENTRIES[5].range == "one of tanh, erf"
    assert ENTRIES[6].range == "0 or 1"


def test_ranges_in_symbols():
    shorts = [entry.short_range for entry in ENTRIES[:7]]
    assert shorts == ["> 0", ">= 0, <= 1", "whole, >= 1", "list, > 0", "list, whole", "one of tanh, erf", "0 or 1"]


def test_samples_are_as_one_would_type_them():
    assert [entry.sample for entry in ENTRIES[:7]] == [
        "eps=0.5", "q=0.1", "n=1000", "C=1,2", "j=0,-1", "activation=tanh", "odd=1",
    ]  # fmt: skip
    assert replace(count("", example=1_000_000), name="n").sample == "n=1000000"


def test_an_error_repeats_the_beginning_of_a_long_value():
    text = str(InputError("params", list(range(10_000)), "an option", "It is said elsewhere"))
    assert text.startswith("params: got [0, 1, 2,")
    assert text.endswith("..., expected an option. It is said elsewhere")
    assert len(text) < 500
