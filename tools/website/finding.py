"""A page that finds pages: an index made at build time and a few lines of script; nothing is asked from elsewhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping

from website.markup import page

WORDS = 160
"""So many words of each page are searched."""


def entry(path: str, text: str) -> tuple[str, str, str]:
    """Address, title, and the first words of a page."""
    plain = html.unescape(
        re.sub(r"<math.*?</math>|<svg.*?</svg>|<[^>]+>|^---.*?^---", " ", text, flags=re.DOTALL | re.M)
    )
    title = next((line[2:].strip() for line in plain.splitlines() if line.startswith("# ")), path)
    words = re.findall(r"[\w.'-]{2,}", plain)
    return (
        path.removesuffix(".md") + ".html",
        title.replace("`", ""),
        " ".join(dict.fromkeys(words[: 3 * WORDS]))[:1500],
    )


def index_script(texts: Mapping[str, str]) -> str:
    """The index as a script, as the tables of the sliders are."""
    entries = [entry(path, text) for path, text in sorted(texts.items())]
    return f"window.certiformerPages = {json.dumps(entries, separators=(',', ':'))};\n"


def finding_page() -> str:
    return page(
        "---\nhide:\n  - toc\n---",
        "# Find",
        '<input id="words-to-find" type="search" placeholder="words: heavy tails, Lemma 3.1, holdout, ..." '
        'aria-label="words to find" autofocus>\n<ol id="found"></ol>',
        '<script src="assets/pages.js"></script>\n<script src="assets/find.js"></script>',
    )
