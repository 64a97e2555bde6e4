"""Every vector in tests/vectors, evaluated through the same door that a user takes."""

import json
import math
from pathlib import Path

import pytest

from certiformer.theory.core import find, results

FOLDER = Path(__file__).parents[2] / "vectors"
OPTIMISED_PREFIXES = ("chain", "exact", "best", "S4chain", "logN", "S2")


def load():
    vectors = []
    for path in sorted(FOLDER.glob("*.json")):
        for entry in json.loads(path.read_text()):
            if "id" in entry and "inputs" in entry and ("printed" in entry or "sound" in entry):
                vectors.append(pytest.param(entry, id=f"{path.stem}:{entry['id']}:{len(vectors)}"))
    return vectors


def is_optimised(entry, name):
    return name in entry.get("optimised", ()) or name.startswith(OPTIMISED_PREFIXES) or name.endswith("_opt")


@pytest.mark.parametrize("entry", load())
def test_vector(entry):
    if entry["id"] not in results():
        pytest.fail(f"a vector for {entry['id']}, which is not registered")
    evaluation = find(entry["id"]).evaluate(entry["inputs"])
    for side in ("printed", "sound"):
        variants = getattr(evaluation, side)
        for name, expected in entry.get(side, {}).items():
            assert name in variants, f"{side} has no variant {name}; it has {', '.join(variants)}"
            value = variants[name].value
            if side == "sound" and is_optimised(entry, name):
                assert value <= expected * (1 + 1e-6), f"{side} {name}: {value} exceeds {expected}"
            else:
                assert math.isclose(value, expected, rel_tol=2e-9), f"{side} {name}: {value}, expected {expected}"


def test_every_result_has_a_vector():
    covered = {parameter.values[0]["id"] for parameter in load()}
    assert sorted(set(results()) - covered) == []
