"""Ask the finished site what new users ask, in a browser: `PYTHONPATH=tools python -m website.check [SITE]`.

Every query must find its page among the first three answers of the site's own search; no page may be wider than a phone
or a screen, or say anything on the browser's console.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIRST = 3
WIDTHS = (390, 1280)
ACROSS = "document.documentElement.scrollWidth"
QUERIES: dict[str, tuple[str, ...]] = {
    "CI gate": ("gates.html", "how-to/gate-a-pipeline.html"),
    "exit code": ("reference/commands.html", "gates.html"),
    "multi-label": ("how-to/regression-and-multi-label.html",),
    "pandas": ("how-to/any-function.html", "sample.html"),
    "how many labels": ("gallery/how_many_labels.html",),
    "perplexity": ("language-model.html", "tutorials/certify-a-language-model.html"),
    "groups": ("how-to/groups-and-repeats.html",),
    "Python 3.13": ("install.html",),
    "scikit-learn": ("how-to/any-function.html", "gallery/certify_scikit_learn.html"),
    "regression": ("how-to/regression-and-multi-label.html",),
    "lm-evaluation-harness": ("tutorials/compare-language-models.html", "how-to/gate-a-pipeline.html"),
    "vacuous": ("vacuous.html",),
    "json schema": ("reference/report-json.html",),
    "LLM": ("tutorials/compare-language-models.html",),
    "LaTeX": ("reference/commands.html", "tutorials/audit-a-theorem.html"),
    "slurm": ("how-to/clusters.html",),
    "counterexample": ("audit.html", "tutorials/audit-a-theorem.html", "gallery/attack_a_claim.html"),
    "Theorem 4.1": ("results/trauger.thm4.1.html",),
    "coq": ("proof-kernel.html",),
    "add a bound": ("add-a-bound.html",),
    "keras": ("how-to/any-function.html",),
    "confidence": ("what-a-certificate-is.html",),
    "adaptive": ("how-to/adaptive-use.html",),
    "bits per byte": ("language-model.html", "tutorials/certify-a-language-model.html"),
}
"""What a new user types, and the pages that answer it."""


def chromium() -> str | None:
    """A browser of this machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def answers(page: Any, query: str, home: str) -> list[str]:
    """The pages that the search in the header lists, best first."""
    page.goto(home)
    field = page.locator("[data-md-component=search-query]").first
    field.click()
    field.press_sequentially(query)
    page.wait_for_function(
        "() => /matching/.test(document.querySelector('.md-search-result__meta').innerText)", timeout=30_000
    )
    page.wait_for_timeout(500)
    links = page.eval_on_selector_all(
        ".md-search-result__item > .md-search-result__link", "all => all.map(one => one.href)"
    )
    top = home.rpartition("/")[0] + "/"
    return list(dict.fromkeys(link.partition("#")[0].partition("?")[0].removeprefix(top) for link in links))


def unanswered(page: Any, site: Path) -> Iterator[str]:
    """Queries whose page is not among the first answers."""
    home = (site / "index.html").as_uri()
    for query, wanted in QUERIES.items():
        found = answers(page, query, home)[:FIRST]
        if not set(wanted) & set(found):
            yield f"search “{query}”: not {' or '.join(wanted)}, but {', '.join(found) or 'nothing'}"


def too_wide(page: Any, site: Path) -> Iterator[str]:
    """Pages that a reader would have to move sideways."""
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            if page.evaluate(ACROSS) > width:
                page.wait_for_timeout(500)  # drawers move when a window changes its size
            across = page.evaluate(ACROSS)
            if across > width:
                yield f"{path.relative_to(site)}: {across} pixels wide on a screen of {width}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, nargs="?", default=ROOT / "site")
    site = parser.parse_args().site.resolve()
    program = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        print("no chromium, or no playwright: the site was not tried in a browser")
        return 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        said: list[str] = []
        page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
        found = [*unanswered(page, site), *too_wide(page, site), *said]
        browser.close()
    for line in found:
        print(line)
    print(f"{len(QUERIES)} queries and {len(list(site.rglob('*.html')))} pages tried: {len(found)} to mend")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
