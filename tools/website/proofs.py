"""Where the proof of a result stands: the part of a page in docs/proofs whose heading names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from certiformer.theory.core import Result


@dataclass(frozen=True, slots=True)
class Proof:
    """A page under docs, the heading of the part (empty for the whole page), and its text."""

    page: str
    heading: str
    text: str

    @property
    def link(self) -> str:
        return f"{self.page}#{anchor(self.heading)}" if self.heading else self.page


def anchor(heading: str) -> str:
    """The id that Markdown gives to a heading."""
    plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "").lower()).strip()
    return re.sub(r"[-\s]+", "-", plain)


def proof_of(result: type[Result], root: Path) -> Proof:
    """The part that names the id or the place of the result, on its page or its paper's; else its page."""
    for place in dict.fromkeys((result.proof, f"docs/proofs/{result.paper.key}.md")):
        path = root / place
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
            heading, _, body = part.partition("\n")
            if names(heading.removeprefix("## "), result):
                page = str(path.relative_to(root / "docs"))
                return Proof(page, heading.removeprefix("## ").strip(), body.strip())
    return Proof(result.proof.removeprefix("docs/"), "", "")


def names(heading: str, result: type[Result]) -> bool:
    """`Softmax (`arda.fact1`)`, `Theorem 4.1 and Corollaries 4.1.1, D.0.1` and `Lemmas 3.3 to 3.6` name results."""
    if f"`{result.id}`" in heading:
        return True
    match = re.match(r"(\w+?)s? ([A-Z]?[\d.]*\w*)", result.place)
    if match is None:
        return False
    kind, number = match.groups()
    current = ""
    for word, low, high in re.findall(r"(?:([A-Z][a-z]{2,}) )?([A-Z]?\.?\d+(?:\.\d+)*)(?: to ([\d.]+\d))?", heading):
        if word:
            current = _singular(word)
        if current == kind and (low == number or (high and _between(low, number, high))):
            return True
    return False


def _singular(word: str) -> str:
    return {"Corollaries": "Corollary"}.get(word, word.removesuffix("s"))


def _between(low: str, number: str, high: str) -> bool:
    def key(text: str) -> list[int]:
        return [int(part) for part in text.split(".") if part.isdigit()]

    return len(key(low)) == len(key(number)) and number[0].isdigit() and key(low) <= key(number) <= key(high)
