"""Compare every quotation with the papers' texts, letter by letter, and list every label that the papers carry.

    python tools/quotations.py --texts DIR

DIR holds the five texts, one `.txt` file each, found by their titles; they are not part of this repository. Blanks and
line breaks play no part: texts that were extracted from a PDF break lines where they like. What is found is written to
`tests/vectors/quotations*.json` (a hash of each quotation) and `tests/vectors/labels.json` (the labels of each paper),
so that a quotation nobody compared, or a numbered item nobody listed, fails a test wherever the texts are not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path

from certiformer.certificates._refutations import refutation_of, refutations
from certiformer.theory.core import Paper, papers, results

ROOT = Path(__file__).resolve().parents[1]
HASHES = ROOT / "tests" / "vectors" / "quotations.json"
REFUTED = ROOT / "tests" / "vectors" / "quotations_refuted.json"
LISTED = ROOT / "tests" / "vectors" / "quotations_items.json"
LABELS = ROOT / "tests" / "vectors" / "labels.json"
KINDS = "Assumption|Corollary|Definition|Example|Fact|Lemma|Proposition|Remark|Theorem|Table|Figure"
LABEL = re.compile(
    rf"^[\s*#]*(?P<kind>{KINDS})\s+(?P<number>[A-Z]?\.?\d+(?:\.\d+)*)(?![.\d]*\d)\s*(?:\*\*)?\s*(?:[.:(]|\*|$)",
    re.MULTILINE,
)
BOLD = re.compile(rf"\*\*(?P<kind>{KINDS})\s+(?P<number>[A-Z]?\.?\d+(?:\.\d+)*)\.?\*\*")
EQUATION = re.compile(r"(?:\\tag\{|\\quad\s*\(|\s\()(?P<number>\d{1,2})[)}]\s*(?:\$\$|\\\\|\||$)", re.MULTILINE)


def squeezed(text: str) -> str:
    """The letters without blanks."""
    return re.sub(r"\s+", "", text)


def digest(quotation: str) -> str:
    """The hash that stands for a quotation."""
    return hashlib.sha256(squeezed(quotation).encode()).hexdigest()[:16]


def quotations() -> dict[str, str]:
    """Every quotation that is shown, by the id of its result."""
    return {id: result.sections.quoted for id, result in results().items() if result.sections.quoted}


def refuted() -> dict[str, list[str]]:
    """What the refutations for a proof kernel quote, by the id of the result."""
    heads = {id: refutation_of(id).partition("From Coq")[0] for id in refutations()}
    return {id: re.findall(r'"([^"]*)"', head) for id, head in heads.items()}


def listed() -> dict[str, dict[str, str]]:
    """What the list of items quotes, by paper and item."""
    items = tomllib.loads((ROOT / "docs" / "papers" / "items.toml").read_text(encoding="utf-8"))
    return {key: {label: said[2] for label, said in of.items() if len(said) > 2} for key, of in items.items()}


def labels(text: str) -> list[str]:
    """The labels of a text in their order: `Lemma 3.1`, `Equation 8`."""
    found = [(m.start(), f"{m['kind']} {m['number']}") for pattern in (LABEL, BOLD) for m in pattern.finditer(text)]
    found += [(m.start(), f"Equation {m['number']}") for m in EQUATION.finditer(text)]
    return list(dict.fromkeys(label for _, label in sorted(found)))


def text_of(paper: Paper, folder: Path) -> str:
    """The text whose beginning has the paper's title."""
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        if squeezed(paper.title).lower() in squeezed(text[:2000]).lower():
            return text
    sys.exit(f"{folder}: no text has the title {paper.title!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, metavar="DIR", help="the papers' texts")
    folder = parser.parse_args().texts
    shown = quotations()
    texts = {key: text_of(paper, folder) for key, paper in papers().items() if key not in ("toolbox", "certificates")}
    squeezed_texts = {key: squeezed(text) for key, text in texts.items()}
    wrong = [id for id, words in shown.items() if squeezed(words) not in squeezed_texts[results()[id].paper.key]]
    for id in wrong:
        print(f"{id}: not in the text: {shown[id]}")
    for id, several in refuted().items():
        for words in several:
            if squeezed(words) not in squeezed_texts[results()[id].paper.key]:
                wrong.append(id)
                print(f"{id}: quoted in its refutation and not in the text: {words}")
    for key, of in listed().items():
        for label, words in of.items():
            if squeezed(words) not in squeezed_texts[key]:
                wrong.append(label)
                print(f"{key}, {label}: not in the text: {words}")
    if wrong:
        return 1
    HASHES.write_text(json.dumps({id: digest(words) for id, words in shown.items()}, indent=1) + "\n")
    REFUTED.write_text(json.dumps({id: [*map(digest, several)] for id, several in refuted().items()}, indent=1) + "\n")
    hashed = {key: {label: digest(words) for label, words in of.items()} for key, of in listed().items()}
    LISTED.write_text(json.dumps(hashed, indent=1) + "\n")
    LABELS.write_text(json.dumps({key: labels(text) for key, text in texts.items()}, indent=1) + "\n")
    compared = len(shown) + sum(map(len, hashed.values()))
    print(f"{compared} quotations are in the texts; wrote {HASHES.relative_to(ROOT)} and {LABELS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
