"""Without extras theory, compositions, plans and certificates of predictions work; the rest says what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = "jax jaxlib equinox optax jaxtyping numba dask distributed tokenizers gguf pyarrow pandas sklearn torch"
WITHOUT = f"""
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS.split()!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from certiformer.cli import main
main()
"""


def run(*words):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *map(str, words)], capture_output=True, text=True, timeout=240
    )


@pytest.mark.parametrize(
    "words",
    [
        ("theorems", "trauger"),
        ("explain", "li.thm5.3"),
        ("bound", "trauger.lem3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4"),
        ("compose", ROOT / "examples" / "networks" / "bert.toml"),
        ("plan", "--error", "0.02"),
    ],
    ids=lambda words: words[0],
)
def test_works_without_extras(words):
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("id", ["mwigo.fig1", "trauger.fig1", "deora.margins", "arda.fig2", "li.misspecified"])
def test_published_runs_of_every_paper_are_redrawn_without_extras(id, tmp_path):
    """And the look-up of one experiment imports no other's module."""
    done = run("reproduce", id, "--from", ROOT / "docs" / "reproduction" / "runs", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / id).glob("*.pdf"))
    published = ROOT / "docs" / "reproduction" / "reports" / id / "report.json"
    told, before = (json.loads(path.read_text()) for path in (tmp_path / id / "report.json", published))
    assert [told[name] for name in ("ledger", "code", "runs")] == [before[name] for name in ("ledger", "code", "runs")]
    assert [row["verdict"] for row in told["rows"]] == [row["verdict"] for row in before["rows"]]


def test_predictions_are_certified_without_extras(tmp_path):
    labels = np.arange(400) % 2
    predictions = np.where(np.arange(400) % 40 == 0, 1 - labels, labels)
    np.savez(tmp_path / "predictions.npz", heldout_labels=labels, heldout_predictions=predictions)
    done = run("certify", "--predictions", tmp_path / "predictions.npz", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists()


def test_what_needs_an_extra_says_which():
    done = run("train", "shallow_encoder")
    assert done.returncode == 2
    assert "pip install 'certiformer[train]'" in done.stderr
    assert "Traceback" not in done.stderr
