"""The examples in docstrings say what happens."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if re.search(r">>> (?!.*\+SKIP)", path.read_text(encoding="utf-8"))
]


def test_public_functions_have_examples():
    assert len(MODULES) >= 12


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
