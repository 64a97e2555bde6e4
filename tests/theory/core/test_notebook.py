"""Objects as a notebook shows them, and rows as frames."""

import sys

import numpy as np
import pytest

import certiformer
from certiformer.theory.core import find, notebook
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.sweeping import parse_sweep, sweep

HOSTILE = "<script>alert(1)</script>"
INPUTS = {"Bw": 1, "Bx": 1, "d": 4, "k": 4}


def test_a_table_escapes_and_says_how_much_is_left_out():
    shown = notebook.table(HOSTILE, (HOSTILE,), [(HOSTILE,)] * 70, HOSTILE)
    assert "<script>" not in shown
    assert "and 10 more rows" in shown


def test_an_evaluation_shows_both_sides_and_what_they_rest_on():
    shown = certiformer.bound("trauger.thm4.1", Bw=1, Bc=2, L_sigma=1, Bv=1.5, Bx=1, C=0.5, n=10**6, d=64)._repr_html_()
    assert "trauger.thm4.1" in shown
    assert "<td>printed</td>" in shown
    assert "open: the covers behind C are proper" in shown
    assert "<td>best</td>" in shown


def test_a_report_shows_its_headline_and_what_nobody_checked():
    labels = np.arange(300) % 2
    report = certiformer.certify(predictions={"heldout_labels": labels, "heldout_predictions": labels})
    shown = report._repr_html_()
    assert report.headline in shown
    assert "NOT CHECKED" in shown
    assert "<td>holdout</td>" in shown


def test_sweeps_are_tables_and_frames(monkeypatch):
    swept = sweep(find("trauger.lem3.6"), INPUTS, parse_sweep("eps=0.1:1:3"))
    along = certiformer.bound("trauger.lem3.6", **INPUTS, eps=np.array([0.1, 1.0]))
    assert "trauger.lem3.6" in swept._repr_html_()
    assert "trauger.lem3.6" in along._repr_html_()
    for rows in (swept, along):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(InputError, match="pip install pandas"):
            rows.to_frame()
        monkeypatch.setitem(sys.modules, "pandas", type("pandas", (), {"DataFrame": list}))
        assert rows.to_frame() == rows.rows()
