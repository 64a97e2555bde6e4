"""LaTeX to MathML, at build time: the reader's browser needs no script and no font from elsewhere."""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ElementTree

from latex2mathml.converter import convert

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"


@functools.cache
def mathml(latex: str, *, block: bool = True) -> str:
    """The formula as a `<math>` element on one line; the LaTeX goes along for screen readers and for copying."""
    found = _signs(convert(_plain(latex), display="block" if block else "inline"))
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(found)
    root.set("alttext", latex)
    return re.sub(r"\s*\n\s*", " ", ElementTree.tostring(root, encoding="unicode"))


def display(latex: str) -> str:
    """A displayed formula in a box of its own, which scrolls when it is wider than the page."""
    return f'<div class="formula" tabindex="0">{mathml(latex)}</div>'


def _plain(latex: str) -> str:
    """Fractions of two signs without braces, which the converter would read otherwise."""
    return re.sub(r"\\tfrac\s*(\d|[a-zA-Z])\s*(\d|[a-zA-Z])(?![a-zA-Z])", r"\\tfrac{\1}{\2}", latex)


def _signs(found: str) -> str:
    """Large braces and double bars, which the converter leaves as they are written."""
    for written, sign in ((r"\{", "{"), (r"\}", "}"), (r"\|", "‖")):
        found = found.replace(f">{written}<", f">{sign}<")
    return found
