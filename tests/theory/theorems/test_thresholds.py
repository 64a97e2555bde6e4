"""What the program decides by itself: on one side of a threshold a hypothesis is verified, just beyond it fails.

thresholds.json has, for a hypothesis (of the first variant that needs it), inputs and one input's values on both sides,
at most 0.5 % apart, or as far as whole numbers can be told apart.
"""

import json
from pathlib import Path

import pytest

from certiformer.theory.core import find

ROWS = json.loads((Path(__file__).with_name("thresholds.json")).read_text())


def state(row, value):
    evaluation = find(row["id"]).evaluate({**row["inputs"], row["input"]: value})
    return next(
        hypothesis.state
        for bound in getattr(evaluation, row["side"]).values()
        for hypothesis in bound.hypotheses
        if hypothesis.requires == row["requires"]
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']} {row['side']}: {row['requires'][:40]}")
def test_a_threshold(row):
    assert (state(row, row["verified"]), state(row, row["fails"])) == ("verified", "fails")
