"""Names that a stranger chose, on the site: the site is made from them and read in a browser, where they are text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from browsing import browser, missing  # noqa: F401
from certiformer.theory.core import find
from website import results, sliders, verdicts
from website.__main__ import ASSETS
from website.check import ACROSS, WIDTHS, answers
from website.gallery import Cell, Example, example_page
from website.markup import fenced, page
from website.settings import settings

ROOT = Path(__file__).parents[2]
NAMES = (
    "<img src=x onerror=document.title='owned'>",
    "<script>document.title='owned'</script>",
    "</code></pre></script></table><script>document.title='owned'</script>",
    "\"' onmouseover=document.title='owned' x='",
    "[a](javascript:document.title='owned') ![b](javascript:c)",
    "\n\n# owned\n\n```\n````\n\n<script>document.title='owned'</script>\n",
    "\x1b[31mred\x1b]0;owned\x07\x00\x02\x03\x7f",
    "\u202eevil\u2066\u200b",
    "{{ owned }} {% raw %} ??? note",
    "long" * 2_000,
)
HOSTILE = " ".join(NAMES)
CLAIM = {
    "id": "trauger.lem3.1",
    "version": "printed",
    "verdict": HOSTILE,
    "attained": HOSTILE,
    "bound": HOSTILE,
    "ratio": HOSTILE,
    "attacks": 1000,
    "why": HOSTILE,
    "counterexample": {"attack": "trauger.lem3.1", "data": {"atoms": [[1.0]], "weights": [0.5], "k": 1}},
}
SAYS = """
import csv
from certiformer import certify
names = NAMES
print(*names, sep="\\n")
with open("x.csv", "w", newline="") as file:
    slices = [name.replace("\\x00", "") for name in names] * 30
    rows = [(names[k % 5], names[(k + (k % 9 == 0)) % 5], name) for k, name in enumerate(slices)]
    csv.writer(file).writerows([("label", "prediction", names[0]), *rows])
shown = certify(predictions="x.csv", declaration={"slices": names[0]})
"""
DRAWS = """
from matplotlib.figure import Figure
figure = Figure()
figure.subplots().set_title(names[0] + names[1])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A small site: a page of the gallery, one of a result, the list of results, the sliders; all with such names."""
    if find_spec("mkdocs") is None:
        missing("mkdocs")
    stage, out = tmp_path_factory.mktemp("stage"), tmp_path_factory.mktemp("site")
    claims = {"trauger.lem3.1": {"printed": CLAIM, "sound": CLAIM}}
    panel = replace(sliders.PANELS[-1], title=HOSTILE, meanings={"rate": HOSTILE})
    table = {**sliders.table(replace(panel, axes={"n": [10.0, 100.0], "rate": [0.0, 0.1], "delta": [0.05]}, start={}))}
    table["variants"] = [HOSTILE] * len(table["variants"])
    script = sliders.tables_script([table])
    cells = (Cell("python", SAYS.replace("NAMES", repr(NAMES))), Cell("python", DRAWS))
    example = Example("hostile", "x.py", "Outputs", "", cells)
    texts = {
        "index.md": "# Home\n",
        "gallery/hostile.md": example_page(example, stage / "gallery/pictures"),
        "results/one.md": results.result_page(find("trauger.lem3.1"), claims, ROOT),
        "results/verdicts.md": page("# Verdicts", verdicts.verdict_table({HOSTILE: CLAIM})),
        "results/all.md": results.index_page(claims),
        "sliders.md": page("# Sliders", sliders.body([panel]), f"<script>{script}</script>"
                           '<script src="assets/sliders.js"></script>'),
        "code.md": page("# Code", fenced(HOSTILE), fenced(HOSTILE, "python")),
    }  # fmt: skip
    for name, text in texts.items():
        (stage / name).parent.mkdir(exist_ok=True)
        (stage / name).write_text(text, encoding="utf-8")
    (stage / "assets").symlink_to(ASSETS)
    file = stage.parent / "mkdocs.yml"
    file.write_text(json.dumps(settings([{"Home": "index.md"}], str(stage), str(out))))
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", str(file)]
    done = subprocess.run(
        command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out


def test_names_are_text_on_every_page(browser, site):  # noqa: F811
    opened = browser.new_page()
    said = []
    opened.on("pageerror", lambda error: said.append(f"{opened.url}: {error}"))
    found = sorted(path for path in site.rglob("*.html") if path.name not in ("404.html", "index.html"))
    assert len(found) == 6
    for path in [*found, *(site / "gallery").rglob("*.svg")]:
        opened.goto(path.as_uri())
        assert opened.evaluate("document.querySelectorAll('[onerror], [onmouseover]').length") == 0, path
        assert opened.evaluate("document.querySelectorAll('[href^=\"javascript\"], [src=x]').length") == 0, path
        shown = opened.evaluate("document.documentElement.textContent")
        assert NAMES[0] in shown or path.suffix == ".svg", path  # a drawing has letters as curves
        assert not {letter for letter in shown if not letter.isprintable()} & set(HOSTILE) - {"\n"}, path
        assert opened.evaluate("[...document.querySelectorAll('h1, h2')].every(x => !/^owned/.test(x.innerText))")
        if path.suffix == ".html":
            for width in WIDTHS:
                opened.set_viewport_size({"width": width, "height": 800})
                opened.wait_for_timeout(100)
                assert opened.evaluate(ACROSS) <= width, (path, width)
        assert opened.title() != "owned", path
    assert said == []
    opened.close()


def test_names_are_text_in_the_search(browser, site):  # noqa: F811
    opened = browser.new_page()
    assert answers(opened, "owned", (site / "index.html").as_uri())
    assert opened.evaluate("document.querySelectorAll('[onerror], [onmouseover], [href^=javascript]').length") == 0
    assert opened.title() != "owned"
    opened.close()
