"""What was once false, and the tests that hold it (`findings.toml`): every test that is named is there."""

import ast
import functools
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FINDINGS = tomllib.loads((HERE / "findings.toml").read_text(encoding="utf-8"))["finding"]


@functools.cache
def defined_in(file):
    """The tests of a file as pytest names them, without their parameters."""
    found = set()
    for node in ast.parse((HERE / file).read_text(encoding="utf-8")).body:
        inside = [(f"{node.name}::", one) for one in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        found |= {f"{prefix}{one.name}" for prefix, one in inside if isinstance(one, ast.FunctionDef)}
    return found


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding["was"][:60])
def test_every_finding_is_held(finding):
    assert set(finding) == {"was", "tests"}
    assert finding["was"].endswith(".")
    assert finding["tests"]
    for named in finding["tests"]:
        file, _, test = named.partition("::")
        assert test.rpartition("::")[2].startswith("test_")
        assert test in defined_in(file), named


def test_no_finding_stands_twice():
    assert len({finding["was"] for finding in FINDINGS}) == len(FINDINGS)
