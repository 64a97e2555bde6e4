"""A browser for tests: skipped with a visible reason where there is none, or a failure where one is required."""

import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("CERTIFORMER_REQUIRE_BROWSER") == "1"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing(what):
    """Skip with a visible reason, or fail where a browser is required."""
    if REQUIRED:
        pytest.fail(f"{what} is missing and CERTIFORMER_REQUIRE_BROWSER is set")
    pytest.skip(f"{what} is missing: the page was not looked at in a browser")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        missing("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()
