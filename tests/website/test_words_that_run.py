"""What README and how-to guides tell a reader to type: commands and Python, run here as they stand."""

import importlib
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from certiformer.cli import application

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
SLOW = ("certify", "demo", "reproduce", "train")
"""Verbs that take long as the guides say them, and have tests of their own; there only their words are looked at."""
TRAINED = "model.safetensors"
"""What the README's line with `train` writes."""


def commands(page):
    """Every `certiformer ...` line of the blocks of a page, and of its text between backticks; comments left out."""
    text = page.read_text()
    blocks = [body for language, body in fences(text) if language in ("", "console", "text")]
    parts = [part.strip() for block in blocks for line in block.splitlines() for part in re.split(r"\s{3,}|  # ", line)]
    found = [part.removeprefix("$ ") for part in parts if part.removeprefix("$ ").startswith("certiformer ")]
    found += re.findall(r"`(certiformer [^`]+)`", text)
    return list(dict.fromkeys(found))


def outputs(page, command):
    """The lines that a page shows under a command."""
    for _, body in fences(page.read_text()):
        head, _, rest = body.partition("\n")
        if head == f"$ {command}":
            return rest.splitlines()
    return []


def fences(text):
    """Language and body of every block of code."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def blocks(page):
    return [body for language, body in fences(page.read_text()) if language == "python"]


CASES = [(page, line) for line, page in {line: page for page in reversed(PAGES) for line in commands(page)}.items()]


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """The files that the commands name, in a folder with the repository's examples."""
    place = tmp_path_factory.mktemp("reader")
    for name in ("examples", "docs"):
        (place / name).symlink_to(ROOT / name)
    labels = np.arange(600) % 2
    answers = np.where(np.arange(600) % 50 == 0, 1 - labels, labels)
    for name in ("predictions.npz", "preds.npz"):
        np.savez(place / name, heldout_labels=labels, heldout_predictions=answers)
    for name in ("baseline", "candidate"):
        shutil.copytree(ROOT / "tests" / "certification" / "sources" / "logs" / "harness" / "tasks", place / name)
    with (place / "preds.csv").open("w") as file:
        file.write("label,prediction\n" + "".join(f"{a},{b}\n" for a, b in zip(labels, answers, strict=True)))
    return place


def test_the_pages_have_commands():
    assert len({line.split()[1] for _, line in CASES}) >= 10


@pytest.mark.parametrize(("page", "line"), CASES, ids=[f"{page.stem}: {line[:60]}" for page, line in CASES])
def test_a_command_of_the_page(page, line, material, monkeypatch, request):
    monkeypatch.chdir(material)
    words = shlex.split(line, comments=True)[1:]
    verb = words[0]
    runner, app = CliRunner(), application((verb,))
    if verb == "verify":
        place = str(Path(words[1]).parent)
        data = words[words.index("--data") + 1] if "--data" in words else "preds.npz"
        made = runner.invoke(application(("certify",)), ["certify", data, "--out", place])
        assert made.exit_code == 0, made.output
    if TRAINED in words and not (material / TRAINED).exists():
        (training,) = (shlex.split(line)[1:] for line in commands(PAGES[0]) if line.split()[1] == "train")
        assert runner.invoke(application(("train",)), training).exit_code == 0
    abstract = any(word.isupper() and len(word) > 1 for word in words)  # FILE, ID, FOLDER: to be filled in
    if (verb in SLOW and page != PAGES[0]) or abstract or "..." in words:
        helped = runner.invoke(app, [*words[: 2 if verb == "holdout" else 1], "--help"])
        assert helped.exit_code == 0
        for option in (word for word in words if word.startswith("--")):
            assert option.partition("=")[0] in re.sub(r"\x1b\[[0-9;]*m", "", helped.output)
        return
    done = runner.invoke(app, words, env={"COLUMNS": "200"})
    assert done.exit_code == 0, f"{line}: {done.output}"
    assert done.output.strip()
    said = [" ".join(shown.split()) for shown in outputs(page, line)]  # a line of dots: some lines are left out
    if said:
        pattern = "\n".join(r".+" if shown == "..." else re.escape(shown) for shown in said)
        printed = "\n".join(" ".join(shown.split()) for shown in done.output.strip().splitlines())
        assert re.fullmatch(pattern, printed, re.DOTALL), f"{line}: not what it prints: {printed}"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_the_python_of_a_guide(page, capsys):
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), {})
    assert capsys.readouterr().out or not blocks(page)


def test_the_python_of_the_readme(material, monkeypatch):
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 4))
    y = (x[:, 0] > 0).astype(int)
    logits = np.stack([-x[:, 0], x[:, 0]], axis=1)
    space = {
        "classifier": linear.LogisticRegression().fit(x[:200], y[:200]),
        "x": x[200:],
        "y": y[200:],
        "trainer": SimpleNamespace(predict=lambda data: SimpleNamespace(predictions=logits, label_ids=y, metrics={})),
        "dataset": None,
        "y_true": y,
        "y_pred": np.where(np.arange(400) % 40 == 0, 1 - y, y),
    }
    monkeypatch.chdir(material)
    torch = importlib.util.find_spec("torch") and importlib.import_module("torch")
    if torch:
        data = torch.utils.data.TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
        space |= {"module": torch.nn.Linear(4, 2), "loader": torch.utils.data.DataLoader(data, batch_size=50)}
    for block in blocks(PAGES[0]):
        lines = [line for line in block.splitlines() if torch or "(module, " not in line]
        exec(compile("\n".join(lines), "README", "exec"), space)
    assert "errs on at most" in space["report"].headline
    assert (material / "out" / "report.html").exists()


def test_the_readme_is_short_with_one_picture():
    text = PAGES[0].read_text()
    assert len(re.sub(r"^```.*?^```|\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE).split()) <= 700
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    drawn = (ROOT / picture).read_text()
    shown = re.findall(r"\| `(\S+?)`[^|]*\|[^|]*\| ([\d.]+) %", (ROOT / "docs" / "demo.md").read_text())
    assert len(shown) >= 5
    for name, value in shown:
        assert f">{value} %<" in drawn, f"{name}: run `make picture`"


def test_the_targets_of_make_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in (*PAGES, ROOT / "docs" / "install.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"`?make ([a-z-]+)`?", page.read_text()):
            if f"make {target}" in re.findall(r"(?:`|^)(make [a-z-]+)", page.read_text(), re.MULTILINE):
                assert re.search(rf"^{target}\b.*:", makefile, re.MULTILINE), f"{page.name}: make {target}"


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("found", ["python3.11", "python3.13", "python3"])
def test_make_takes_whichever_python_is_there(found, tmp_path):
    """A name that does not run, as one of pyenv without its version, is passed over."""
    for name, line in (("python3.12", "exit 127"), (found, f'exec {sys.executable} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [shutil.which("make"), "--eval", "told: ; @: $(info $(PYTHON))", "told"],
        cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.split()[-1:] == [found], done.stderr


def test_the_metadata_name_the_pythons_that_were_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    table = (ROOT / "docs" / "install.md").read_text().partition("<!-- versions -->")[2].partition("<!-- end")[0]
    works = re.findall(r"^\| (3\.\d+) \| works ", table, re.MULTILINE)
    assert works == [word.rpartition(" ")[2] for word in project["classifiers"] if re.search(r":: 3\.\d+$", word)]
    assert project["requires-python"] == f">={works[0]}"


def test_the_files_that_make_names_exist():
    named = re.findall(r"\b(?:tests|tools|docs)/[\w./-]+\.(?:py|md)\b", (ROOT / "Makefile").read_text())
    assert "tests/auditing/test_proof_kernel.py" in named
    assert [name for name in named if not (ROOT / name).is_file()] == []
