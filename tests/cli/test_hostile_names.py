"""Names that a stranger chose, in files, columns, cells and tensors: text everywhere, never a command."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from browsing import browser  # noqa: F401
from certiformer.cli import main

IMAGE = "<img src=x onerror=document.title='owned'>"
NAMES = (
    "=cmd|'/c calc'!A0",
    IMAGE,
    "\x1b[31mred\x1b]0;owned\x07",
    "@SUM(1)",
    "+1-x",
    "[bold]x[/]",
    "![a](javascript:b)",
    "\u202eevil",
    "<script>document.title='owned'</script>",
    "two\nlines\r\n",
    "long" * 1_000,
)
TABLE, MODEL = f"=x{IMAGE}.csv", f"@m{IMAGE}.safetensors"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("names")
    for name, wrong in ((TABLE, 9), ("y.csv", 4)):
        rows = [
            (
                NAMES[row % len(NAMES)] + str(row),
                NAMES[row % 3],
                NAMES[(row + (row % wrong == 0)) % 3],
                NAMES[row % len(NAMES)],
                row / 330,
            )
            for row in range(330)
        ]
        with (place / name).open("w", newline="") as file:
            csv.writer(file).writerows([("id", "label", "prediction", IMAGE, "confidence"), *rows])
    tensors = {name: np.eye(3, dtype=np.float32) * (1 + at) for at, name in enumerate(NAMES)}
    save_file(tensors, place / MODEL, metadata={IMAGE: NAMES[2]})
    return place


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert left.value.code in (0, None, 1, 3), said.err
        return said.out + said.err

    return command


def harmless(text):
    """A spreadsheet would compute no cell."""
    for line in csv.reader(io.StringIO(text)):
        for cell in line:
            assert not cell.startswith(("=", "@", "+", "\t")), cell
            assert not cell.startswith("-") or float(cell) <= 0
    return True


def test_the_terminal_gets_no_control_characters(run):
    for words in (
        ("look", TABLE),
        ("certify", TABLE, "--slice", IMAGE),
        ("compare", TABLE, "y.csv"),
        ("gate", TABLE, "--error", 0.3, "--slice", IMAGE),
        ("select", TABLE, "--error", 0.2),
        ("inspect", MODEL, "--tensors", "--no-cache"),
    ):
        said = run(*words)
        assert said
        assert not {letter for letter in said if not letter.isprintable()} - {"\n"}, words


def test_no_cell_is_a_formula(run, folder):
    assert harmless(run("compare", TABLE, "y.csv", "--csv"))
    assert harmless(run("certify", TABLE, "--slice", IMAGE, "--csv"))
    assert harmless(run("inspect", MODEL, "--tensors", "--csv", "--no-cache"))
    run("inspect", MODEL, "--out", "inspected", "--no-cache")
    assert harmless((folder / "inspected" / "inspect.csv").read_text())


def test_pages_are_text_in_a_browser(run, folder, browser):  # noqa: F811
    run("certify", TABLE, "--slice", IMAGE, "--out", "certified")
    run("inspect", MODEL, "--out", "inspected", "--no-cache")
    page = browser.new_page()
    for place in ("certified/report.html", "certified/badge.svg", "inspected/inspect.html"):
        page.goto((folder / place).as_uri())
        page.wait_for_timeout(100)
        assert page.title() != "owned"
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        assert page.evaluate("document.querySelectorAll('[onerror]').length") == 0
        assert page.evaluate("document.querySelectorAll('[href^=\"javascript\"]').length") == 0
        text = page.evaluate("document.documentElement.textContent")
        assert IMAGE in text or place.endswith(".svg")
    page.close()
    front, body = (folder / "certified" / "model-card.md").read_text().split("\n---\n", 1)
    assert not any(name in body for name in NAMES)
    for line in front.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        assert "<" not in line or (key == "name" and json.loads(value))
