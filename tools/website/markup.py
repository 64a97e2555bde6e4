"""Small pieces of HTML and Markdown; what comes from a docstring or a file is text, escaped and on its line."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from certiformer.theory.core.report import visible
from website.formulas import display, typeset


def words(text: str, *, greek: bool = False) -> str:
    """Text on one line as HTML, its mathematics set; `code` between backticks."""
    parts = re.split(r"(`[^`]+`)", visible(text))
    return "".join(
        f"<code>{html.escape(part[1:-1])}</code>"
        if part.startswith("`") and part.endswith("`") and len(part) > 2
        else typeset(html.escape(part, quote=False), greek=greek)
        for part in parts
    )


def paragraphs(text: str, *, greek: bool = False) -> str:
    """A docstring's prose as HTML: paragraphs, lists, indented formulas and `.. math::` blocks."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.splitlines()
        if not any(line.strip() for line in lines):
            continue
        if lines[0].lstrip().startswith(".. math::"):
            blocks.append(display(" ".join(lines).replace(".. math::", "").strip()))
        elif lines[0].startswith(("- ", "* ")):
            blocks.append(bullets(_items(lines), greek=greek))
        elif all(line.startswith((" ", ">>>", "...")) or not line for line in lines) or lines[0].startswith(">>>"):
            blocks.append(f"<pre><code>{html.escape(paragraph)}</code></pre>")
        else:
            blocks.append(f"<p>{words(' '.join(line.strip() for line in lines), greek=greek)}</p>")
    return "\n\n".join(blocks)


def _items(lines: Sequence[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if line.startswith(("- ", "* ")):
            items.append(line[2:])
        elif items:
            items[-1] += " " + line.strip()
    return items


def bullets(items: Iterable[str], *, greek: bool = False) -> str:
    return "<ul>" + "".join(f"<li>{words(item, greek=greek)}</li>" for item in items) + "</ul>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table in a box that scrolls by itself; cells are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    attribute = f' class="{kind}"' if kind else ""
    return f'<div class="wide"><table{attribute}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def fenced(text: str, language: str = "") -> str:
    """A block of code; the fence is longer than any in the text, and control characters are written out."""
    text = "\n".join(map(visible, text.split("\n")))
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def folded(title: str, body: str, kind: str = "note") -> str:
    """Markdown that the reader opens."""
    inner = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    return f'??? {kind} "{title}"\n\n{inner}'


def page(*parts: str) -> str:
    """Parts of a page, empty ones left out."""
    return "\n\n".join(part for part in parts if part) + "\n"
