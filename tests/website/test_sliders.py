"""The page of sliders in a real browser: what it shows is what `bound` says."""

import math

import pytest

from browsing import browser  # noqa: F401
from certiformer.theory.core import find
from website import sliders
from website.__main__ import ASSETS
from website.sliders import PANELS, Panel, powers, table, tables_script

SMALL = (
    Panel("trauger.lem3.6", "Cover", {"eps": powers(-2, 1), "d": [16, 64, 256]}, start={"eps": 1, "d": 1}),
    Panel("holdout", "Hold-out", {"n": [100, 1000, 10000], "errors": [0, 5, 20]}, start={"n": 1}),
)


def test_panels_name_inputs_that_exist_and_start_inside():
    for panel in PANELS:
        known = {entry.name for entry in find(panel.id).inputs}
        first = {name: values[panel.start.get(name, 0)] for name, values in panel.axes.items()}
        assert set(panel.inputs(first)) | set(panel.fixed) <= known
        assert all(panel.start.get(name, 0) < len(values) for name, values in panel.axes.items())


def test_the_table_is_what_bound_says():
    made = table(SMALL[0])
    at = made["axes"][0]["values"].index(0.1) + len(made["axes"][0]["values"]) * 2
    both = find("trauger.lem3.6").evaluate({"Bw": 2, "Bx": 1.5, "eps": 0.1, "d": 256, "k": 4})
    assert made["printed"][at] == pytest.approx(both.printed["value"].log10, abs=1e-6)
    assert made["sound"][at] == pytest.approx(both.sound[both.best].log10, abs=1e-6)
    assert made["variants"][made["variant"][at]] == both.best


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    place = tmp_path_factory.mktemp("sliders")
    style, script = ((ASSETS / name).read_text() for name in ("site.css", "sliders.js"))
    tables = tables_script([table(panel) for panel in SMALL])
    (place / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><style>{style}</style>{sliders.body(SMALL)}"
        f"<script>{tables}</script><script>{script}</script>"
    )
    return (place / "index.html").as_uri()


@pytest.mark.parametrize("width", [390, 1280])
def test_moving_a_slider_changes_the_numbers(browser, address, width):  # noqa: F811
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    page.goto(address)
    panel = page.locator("section[data-id='trauger.lem3.6']")
    for eps, d in ((1, 1), (0, 2), (3, 0)):
        panel.locator("input[name=eps]").fill(str(eps))
        panel.locator("input[name=d]").fill(str(d))
        both = find("trauger.lem3.6").evaluate(
            {"Bw": 2, "Bx": 1.5, "eps": 10.0 ** (eps - 2), "d": (16, 64, 256)[d], "k": 4}
        )
        for side, bound in (("printed", both.printed["value"]), ("sound", both.sound[both.best])):
            shown = panel.locator(f".reading output.{side}").inner_text()
            assert _number(shown) == pytest.approx(bound.value, rel=2e-3) or (shown == "–" and bound.value == 0.0)
        assert panel.locator("svg.curves circle.here").count() >= 1
    holdout = page.locator("section[data-id=holdout]")
    assert holdout.locator("output.printed").count() == 0  # nothing was printed
    assert 0 < _number(holdout.locator("output.sound").inner_text()) < 0.01
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    context.close()


def _number(text):
    if "·10^" in text:
        digits, power = text.split("·10^")
        return float(digits) * 10.0 ** int(power)
    return math.nan if text == "–" else float(text)
