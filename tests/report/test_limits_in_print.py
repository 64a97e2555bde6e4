"""Every limit that is printed is still a limit: an upper one is never below its value, a lower one never above."""

import json
import math
import random
import re
import sys
from types import SimpleNamespace

import pytest

import certiformer
from certiformer.cli import main
from certiformer.theory.core import Direction, find, results

NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?")


@pytest.fixture
def run(monkeypatch, capsys):
    def command(*words):
        monkeypatch.setattr(sys, "argv", ["certiformer", *words])
        with pytest.raises(SystemExit) as left:
            main()
        return SimpleNamespace(returncode=left.value.code or 0, stdout=capsys.readouterr().out)

    return command


@pytest.mark.parametrize("id", ["trauger.thm4.1", "mwigo.thm5", "holdout", "dudley", "trauger.lem3.1"])
def test_bounds_are_printed_and_set_rounded_outward(run, id):
    """Screen, LaTeX, notebook and report of a result at inputs whose bounds have many digits."""
    rng = random.Random(id)
    words = find(id).example.split()
    for _ in range(5):
        given = [one if "." not in one.partition("=")[2] else _moved(one, rng) for one in words if "=" in one]
        document = json.loads(run("bound", id, *given, "--json").stdout)
        screen, latex = run("bound", id, *given).stdout, run("bound", id, *given, "--latex").stdout
        evaluation = find(id).evaluate(dict(one.split("=") for one in given))
        for side in ("printed", "sound"):
            for name, bound in document[side].items():
                value = bound["value"]
                if not isinstance(value, float) or not math.isfinite(value):
                    continue
                row = next(line for line in screen.splitlines() if re.match(rf"{side}\s+{re.escape(name)}\s", line))
                shown, log10 = row.split()[2:4]
                assert float(shown) >= value
                assert bound["log10"] is None or float(log10) >= bound["log10"]
                cells = next(line.split(" & ") for line in latex.splitlines() if f"& {side} & {_set(name)} &" in line)
                assert _number(cells[3]) >= value
                assert evaluation._repr_html_().count("<tr>") > 1
        if document["best"]:
            value = document["sound"][document["best"]]["value"]
            stated = NUMBER.findall(str(evaluation.report()).splitlines()[0].partition(" is at most ")[2])[0]
            assert value is None or not isinstance(value, float) or float(stated.rstrip(".")) >= value


def _moved(word, rng):
    name, _, value = word.partition("=")
    return f"{name}={float(value) * rng.uniform(0.9, 1.0)!r}"


def _set(name):
    return name.replace("_", r"\_")


def _number(cell):
    text = cell.strip().strip("$")
    digits, _, exponent = text.partition(r" \times 10^{")
    return float(f"{digits}e{exponent.rstrip('}')}") if exponent else float(digits)


def test_a_lower_bound_is_rounded_down(run):
    lower = [result for result in map(find, results()) if result.bounds.direction is Direction.LOWER]
    assert lower
    for result in lower:
        document = json.loads(run("bound", *_words(result), "--json").stdout)
        screen = run("bound", *_words(result)).stdout
        for side in ("printed", "sound"):
            for name, bound in document[side].items():
                if isinstance(bound["value"], float) and "bounds" not in bound:
                    row = next(line for line in screen.splitlines() if re.match(rf"{side}\s+{re.escape(name)}\s", line))
                    assert float(row.split()[2]) <= bound["value"]


def _words(result):
    return [result.id, *(one for one in result.example.split() if "=" in one)]


@pytest.mark.parametrize("scale", [1.0, 1e3, 4.321e6, 9.87e11, 1.7e-6])
def test_a_mean_loss_of_any_size_is_printed_rounded_outward(scale, tmp_path):
    rng = random.Random(scale)
    losses = [{"loss": rng.random() * scale} for _ in range(60)]
    file = tmp_path / "losses.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in losses))
    found = certiformer.certify(predictions=file, declaration={"metric": "loss", "range": (0.0, scale)})
    row = found.best
    from certiformer.report.page import at_least, limit

    assert _shown(limit(row)) >= row.value
    assert row.lower is None or _shown(at_least(row)) <= row.lower
    assert limit(row) in found.page()


def _shown(text):
    superscript = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    if text.startswith("10^"):
        return 10.0 ** float(text[3:])
    digits, _, power = text.replace(",", "").partition(" × 10")
    return float(f"{digits}e{power.translate(superscript)}") if power else float(digits)


def test_every_report_is_a_page(tmp_path):
    """Reports of bounds and gates are written as those of `certify` are; a lower bound is one on its page."""
    result = certiformer.explain("deora.def1")
    words = (word.partition("=") for word in result.example.split())
    lower = certiformer.bound(result, **{name: value for name, _, value in words if value}).report()
    upper = certiformer.bound("trauger.lem3.6", Bw=1, Bx=1, eps=0.5, d=4, k=4).report()
    right = {"correct": [True] * 190 + [False] * 10}
    for name, report in (("lower", lower), ("upper", upper), ("gate", certiformer.gate(right, error=0.2))):
        page, _ = report.write(tmp_path / name)
        said = page.read_text()
        assert report.headline in said.replace("\u00a0", " ")
        assert ("guaranteed at least" in said) == (name == "lower")
        assert "verify" not in said
        assert "verify" not in (tmp_path / name / "model-card.md").read_text()
    assert "at least" in lower._repr_html_()
    assert "at most" not in lower._repr_html_()
