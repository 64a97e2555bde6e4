"""Which results the tests vouch for: the arguments of the marks `independent`, `property_of`, `counterexample`."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
MARKS = ("independent", "property_of", "counterexample")


def collect():
    """Mark name -> set of ids, read from the source of every test file."""
    found = {mark: set() for mark in MARKS}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MARKS:
                found[node.func.attr] |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found
