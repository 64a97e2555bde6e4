"""Tables are whole at every width, in pipes at full width; nothing is a traceback when the output cannot be written."""

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.table import Table
from rich.text import Text

from certiformer.cli import _output, main
from checkpoints import tiny
from subprocesses import python_path

BERT = Path(__file__).parents[2] / "examples" / "networks" / "bert.toml"
RUNS = Path(__file__).parents[2] / "docs" / "reproduction" / "runs" / "arda.fig1.runs"
TRAUGER = "trauger.thm4.1 Bw=1 Bc=2 L_sigma=1 Bv=1.5 Bx=1 C=0.5 d=64"
VERBS = {
    "theorems": "theorems arda",
    "search": "search heavy tails",
    "explain": "explain trauger.thm4.1",
    "bound": f"bound {TRAUGER} n=1e6",
    "sweep": f"bound {TRAUGER} --sweep n=1e1:1e9:4",
    "compare": "compare holdout occam errors=5 n=1000 code_length=10 delta=0.05",
    "compose": f"compose {BERT}",
    "certify": "certify p.npz --out o",
    "verify": "verify o/report.json --data p.npz",
    "plan": "plan --error 0.02 --expect 0.01",
    "reproduce": "reproduce --list",
}
ALSO = {
    "audit": "audit trauger.lem3.1 --budget 0.001 --workers 1",
    "reproduce again": f"reproduce arda.fig1 --from {RUNS} --out r",
    "inspect": "inspect model --no-cache",
    "inspect tensors": "inspect model --no-cache --tensors",
    "holdout log": "holdout log ledger",
}
"""Tables that other tests look at; here only as rows."""


@pytest.fixture
def shown(monkeypatch, capsys, tmp_path):
    """Runs a line at a width (None: a pipe); its output, and the words of all cells that went into tables."""
    monkeypatch.chdir(tmp_path)
    np.savez("p.npz", heldout_labels=np.arange(100) % 3, heldout_logits=5.0 * np.eye(3)[(np.arange(100) + 1) % 3 % 3])
    np.savez("labels.npz", heldout_labels=np.arange(100) % 3)
    np.savez("asked.npz", heldout_predictions=(np.arange(100) + 1) % 3)
    fitted = _output._fitted
    words = set()

    def recorded(thing):
        if isinstance(thing, Table):
            for column in thing.columns:
                cells = [*([column.header] if thing.show_header else []), *column.cells]
                for cell in cells:
                    text = cell if isinstance(cell, Text) else Text.from_markup(str(cell))
                    words.update(text.plain.split())
        return fitted(thing)

    monkeypatch.setattr(_output, "_fitted", recorded)

    def command(line, width):
        words.clear()
        monkeypatch.setattr(sys, "argv", ["certiformer", *line.split()])
        if width is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        return capsys.readouterr().out, set(words)

    return command


@pytest.mark.parametrize("width", [40, 60, 80, None])
def test_no_mark_exponent_or_title_is_cut(shown, width):
    for line in VERBS.values():
        text, words = shown(line, width)
        assert "…" not in text
        broken = {word for word in words if word not in text and (width is None or len(word) < width - 12)}
        assert not broken, f"{line} at {width}: {broken}"
        if width is not None:
            assert max(map(len, text.splitlines())) <= max(width, 40)


def test_a_pipe_gets_one_line_per_row(shown):
    text, _ = shown("theorems arda", None)
    row = next(line for line in text.splitlines() if line.startswith("arda.thm1 "))
    assert row == row.rstrip()
    assert len(text.splitlines()) == 2 + sum(line.startswith("arda.") for line in text.splitlines()) + 1


AS_ROWS = [(verb, flag) for verb in VERBS if verb != "explain" for flag in ("--csv", "--markdown")]


@pytest.mark.parametrize(("verb", "flag"), [*AS_ROWS, *((verb, "--csv") for verb in ALSO)])
def test_rows_for_other_programs(shown, verb, flag):
    if verb == "verify":
        shown(VERBS["certify"], 80)
    if verb.startswith("inspect"):
        tiny.write_folder(Path("model"), *tiny.bert())
    if verb == "holdout log":
        shown("holdout new ledger --data labels.npz", 80)
        shown("holdout ask ledger --predictions asked.npz", 80)
        shown("holdout claim ledger", 80)
    text, _ = shown(f"{ {**VERBS, **ALSO}[verb] } {flag}", 40)
    if flag == "--csv":
        names, *rows = csv.reader(io.StringIO(text))
    else:
        names, _, *rows = (re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines())
    assert rows
    assert all(len(row) == len(names) for row in rows)


COMMAND = [sys.executable, "-m", "certiformer"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": python_path()}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("line", ["theorems", "theorems --json"])
def test_a_full_disk_is_one_line(line):
    with open("/dev/full", "w") as full:
        words = {"stdout": full, "stderr": subprocess.PIPE, "text": True, "timeout": 120}
        found = subprocess.run([*COMMAND, *line.split()], env=ENVIRONMENT, **words)
    assert found.returncode == 2
    assert found.stderr.splitlines() == ["error: output: No space left on device"]


def test_a_closed_pipe_is_silent():
    reader, writer = os.pipe()
    os.close(reader)
    words = {"stdout": writer, "stderr": subprocess.PIPE, "text": True, "timeout": 120}
    found = subprocess.run([*COMMAND, "theorems", "--json"], env=ENVIRONMENT, **words)
    os.close(writer)
    assert found.stderr == ""
    assert found.returncode != 0


def test_completion_is_on():
    asked = {"_CERTIFORMER_COMPLETE": "complete_bash", "COMP_WORDS": "certiformer th", "COMP_CWORD": "1"}
    program = "from certiformer.cli import application; application()(prog_name='certiformer')"
    found = subprocess.run(
        [sys.executable, "-c", program], env={**ENVIRONMENT, **asked}, capture_output=True, text=True, timeout=120
    )
    assert found.stdout.split() == ["theorems"]


def test_a_pipe_gets_no_blanks_at_the_ends_of_lines():
    """Full width is the room there is, not what is filled."""
    command = [*COMMAND, "explain", "holdout.ladder"]
    found = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=True)
    assert [line for line in found.stdout.splitlines() if line != line.rstrip()] == []
