"""The pages in a real browser: no console error, the chart is there, the table sorts, two widths, dark."""

import re

import pytest

import certiformer
from browsing import browser  # noqa: F401
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.progressive import Progressive
from certiformer.certification.pipeline import Findings, build
from certiformer.cli.reproduce.run import _index
from certiformer.reproduction.sweep import Inline
from reproduction import toy_studies

HOSTILE = "<script>document.title='owned'</script> & \"friends\""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    report = build(
        Findings(
            title=HOSTILE,
            classes=2,
            observed={"train_error": 0.0, "heldout_error": 0.01, "heldout_examples": 1000},
            evidence=(
                HoldOut(errors=10, n=1000),
                Occam(errors=20, n=5000, code_length=200.0, subject="a quantised network"),
                Gibbs(error=0.01, n=500, KL=600.0, subject="a randomised network"),
                Progressive(mean_loss=0.02, n=1000, subject="an iterate drawn at random"),
            ),
            configuration={"flow": "test"},
            splits={},
            seed=0,
            not_checked=("whether a held-out example was seen in training",),
        )
    )
    page, _ = report.write(tmp_path_factory.mktemp("page"))
    return page.as_uri()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The page of the embedded demo."""
    page, _ = certiformer.demo().write(tmp_path_factory.mktemp("demo"))
    return page.as_uri()


@pytest.fixture
def opened(browser, address):  # noqa: F811
    """Opens the page with given settings; whatever the console, the page or the network says is collected."""
    contexts = []

    def open_page(place=address, **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
        page.goto(place)
        return page, said

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_loads_and_fits(opened, width):
    page, said = opened(viewport={"width": width, "height": 900})
    assert said == []
    assert page.locator("svg.chart").count() >= 1
    assert page.locator("svg.chart .dot").first.is_visible()
    assert page.locator("svg.chart .seen").first.is_visible()
    assert page.locator("#conditions input[type=checkbox]").count() >= 2
    assert "NOT CHECKED" in page.locator("#not-checked").inner_text()
    assert page.locator(".headline").inner_text().startswith("The model errs on at most")
    # Wide tables and charts scroll inside their own box; the page itself does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_of_the_demo(opened, demo):
    page, said = opened(demo, viewport={"width": 390, "height": 900})
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    labels = page.locator("svg.chart .label").all_text_contents()
    assert {"holdout", "occam", "pacbayes.single", "progressive"} <= set(labels)
    page.locator("#all > summary").click()
    assert any("(printed)" in text for text in page.locator("#certificates tbody tr").all_inner_texts())
    verdict = page.locator("#certificates tbody tr").first.get_by_text("informative")
    assert verdict.is_visible()  # on a phone too
    box = verdict.bounding_box()
    assert box["x"] + box["width"] <= 390
    assert said == []


def test_names_from_files_are_text(opened):
    page, _ = opened()
    assert page.title() == f"Certificate: {HOSTILE}"
    assert HOSTILE in page.locator("h1").inner_text()


def test_the_table_sorts(opened):
    page, said = opened()
    page.locator("#all > summary").click()
    column = page.locator("#certificates tbody tr td:nth-child(3)")

    def keys():
        return [float(cell.get_attribute("data-sort")) for cell in column.all()]

    button = page.get_by_role("button", name="value")
    button.click()
    ascending = keys()
    assert ascending == sorted(ascending)
    assert page.locator("#certificates th[aria-sort=ascending]").count() == 1
    button.click()
    assert keys() == sorted(ascending, reverse=True)
    assert said == []


def test_dark_mode_is_dark(opened):
    def brightness(page):
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(",")[:3])

    light, _ = opened(color_scheme="light")
    dark, said = opened(color_scheme="dark")
    assert brightness(dark) < 150 < 600 < brightness(light)
    assert said == []


def test_it_prints_on_one_page(opened, demo):
    for place in (None, demo):
        page, _ = opened() if place is None else opened(place)
        page.emulate_media(media="print")
        assert page.locator(".headline").is_visible()
        assert page.locator("#conditions").is_visible()
        assert not page.locator("#provenance").is_visible()
        printed = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """The index of reproduced experiments, with one in it."""
    place = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        toy_studies.alone(patch, *toy_studies.STUDIES)
        done = certiformer.reproduce("li.toy", ledger=place / "l.db", out=place, engine=Inline(), progress=False)
        return _index([done], "quick", place).as_uri(), done.document["rows"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_pages_of_experiments(opened, reproduced, width):
    index, findings = reproduced
    page, said = opened(index, viewport={"width": width, "height": 900}, color_scheme="dark")
    page.wait_for_function("document.querySelector('.gallery img').naturalWidth > 100")
    page.get_by_role("link", name="li.toy", exact=True).click()
    # One row for the printed exponent, one for the sound bound, as in the document.
    rows = page.locator("#findings tbody tr").all_inner_texts()
    assert len(rows) == len(findings) == 2
    assert all(finding["verdict"] in row for finding, row in zip(findings, rows, strict=True))
    page.wait_for_function("document.querySelector('figure img').naturalWidth > 100")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
