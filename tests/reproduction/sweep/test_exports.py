"""Rows as CSV and JSON."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from certiformer.reproduction.sweep import Row, export
from certiformer.theory.core.errors import InputError

ROWS = [
    Row("k1", "e", "1", {"width": 8, "init": {"scale": 0.5}}, "done", 1, {"loss": math.inf, "fit": {"slope": -0.5}},
        {"curve": np.array([[1.0, math.nan], [2.0, -math.inf]]), "spectrum": np.array([1 + 2j])}, seconds=2.5, cpu=1.5,
        finished=1e9, origin={"cpu": "a processor", "libraries": {"numpy": "2.0"}}),
    Row("k2", "e", "1", {"width": 16, "lags": [1, 2]}, "failed", 2, error="ValueError: a, \"b\"\nc", traceback="..."),
    Row("k3", "e", "1", {"width": 32}, "done", 1, {"seconds": 7, "worst": math.nan}),
]  # fmt: skip


def test_json_has_everything_and_is_strict(tmp_path):
    target = export(ROWS, tmp_path / "new" / "results.json")

    def strict(constant):
        raise AssertionError(constant)

    first, second, third = json.loads(target.read_text(), parse_constant=strict)
    assert first["config"] == {"width": 8, "init": {"scale": 0.5}}
    assert first["values"] == {"loss": "inf", "fit": {"slope": -0.5}}
    assert first["arrays"] == {"curve": [[1.0, None], [2.0, "-inf"]], "spectrum": [[1.0, 2.0]]}
    assert first["origin"] == {"cpu": "a processor", "libraries": {"numpy": "2.0"}}
    assert second["error"].startswith("ValueError")
    assert third["values"]["worst"] is None


def test_csv_has_a_column_for_everything(tmp_path):
    target = export(ROWS, tmp_path / "results.CSV")
    with target.open(newline="") as file:
        first, second, third = csv.DictReader(file)
    assert (first["config.width"], first["config.init.scale"], first["loss"], first["fit.slope"]) == (
        "8", "0.5", "inf", "-0.5",
    )  # fmt: skip
    assert json.loads(first["curve"]) == [[1.0, None], [2.0, "-inf"]]
    assert (first["seconds"], first["cpu_seconds"], first["finished"]) == ("2.5", "1.5", "2001-09-09T01:46:40+00:00")
    assert (first["origin.cpu"], first["origin.libraries.numpy"]) == ("a processor", "2.0")
    assert (second["cpu_seconds"], second["finished"], second["origin.cpu"]) == ("", "", "")
    assert second["error"] == 'ValueError: a, "b"\nc'
    assert json.loads(second["config.lags"]) == [1, 2]
    assert (third["seconds"], third["values.seconds"], third["worst"]) == ("", "7", "")


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    target = tmp_path / "results.json"
    target.write_text("old")
    export([], target)
    assert json.loads(target.read_text()) == []
    assert list(tmp_path.iterdir()) == [target]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.csv or \.json"):
        export(ROWS, tmp_path / "results.xls")
