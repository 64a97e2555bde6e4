"""LaTeX to MathML, at build time: the reader's browser needs no script and no font from elsewhere."""

from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

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


_NAMES = (
    "alpha", "beta", "gamma", "delta", "eps", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho",
    "sigma", "tau", "phi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Sigma", "Phi", "Psi", "Omega",
)  # fmt: skip
_GREEK = dict(zip(_NAMES, "αβγδεζηθκλμνξπρστφψωΓΔΘΛΣΦΨΩ", strict=True))
_NAME = rf"(?:{'|'.join(_GREEK)}|ln|log|max|min|sup|sum|[A-Za-z]|\d+(?:\.\d+)?)"
_BASE = rf"(?<![A-Za-z0-9_\\/]){_NAME}|[)\]}}‖]"
_SCRIPT = (
    rf"(?:\{{(?:[^{{}}\n]|\{{[^{{}}\n]*\}})*\}}|\([^()\n]*\)|-?\d+"
    rf"|-?(?:{'|'.join(_GREEK)}|[A-Za-z][A-Za-z0-9]{{0,3}})(?![A-Za-z0-9_]))"
)
_SCRIPTED = re.compile(
    rf"({_BASE})((?:[_^]{_SCRIPT})+)|(?<![A-Za-z0-9_\\])({_NAME}|[A-Za-z]{{2,3}}\d?)((?:\^{_SCRIPT})+)"
)
"""A sign with its scripts; powers also of names of two letters and behind a stroke, where x_y may be part of a path."""
_KEPT = re.compile(
    r"(^(?:```|~~~).*?^(?:```|~~~)[^\n]*$|^\#[^\n]*$|<!--.*?-->|</?[a-zA-Z][^>\n]*>|`+[^`]*`+|\]\([^)\n]*\)|https?://\S+)",
    re.DOTALL | re.MULTILINE,
)


def typeset(text: str, *, greek: bool = False) -> str:
    """Prose with its plain mathematics set: W_QK, d^2, ||x||, sqrt(n), <=; code, links, tags and headings are kept.

    Names of Greek letters become letters in proofs; elsewhere they are names of inputs.
    """
    parts = _KEPT.split(text)
    return "".join(part if number % 2 else _set(part, greek) for number, part in enumerate(parts))


def _set(text: str, greek: bool) -> str:
    for written, sign in (("\\|\\|", "‖"), ("||", "‖"), ("&lt;=", "≤"), ("&gt;=", "≥"), ("<=", "≤"), (">=", "≥")):
        text = text.replace(written, sign)
    text = re.sub(r"\bsqrt\(", "√(", text).replace("+-", "±")
    text = _SCRIPTED.sub(lambda found: (found[1] or found[3]) + _scripts(found[2] or found[4]), text)
    return _letters(text, _GREEK) if greek else text


def _scripts(text: str) -> str:
    shown = ""
    for sign, script in re.findall(rf"([_^])({_SCRIPT})", text):
        inner = _letters(re.sub(r"^[{(](.*)[})]$", r"\1", script), _GREEK | {"inf": "∞"}).replace("-", "−")
        inner = _SCRIPTED.sub(lambda found: (found[1] or found[3]) + _scripts(found[2] or found[4]), inner)
        shown += f"<sub>{inner}</sub>" if sign == "_" else f"<sup>{inner}</sup>"
    return shown


def _letters(text: str, named: Mapping[str, str]) -> str:
    """Names of letters as letters."""
    return re.sub(r"[A-Za-z]+", lambda found: named.get(found[0], found[0]), text)
