"""What the audit said, read from the document that `tools/generate_audit.py` leaves in build/audit.json."""

from __future__ import annotations

import json
import pprint
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from website.markup import fenced, folded, page, table, words
from website.running import output_of

Claims = Mapping[str, Mapping[str, Mapping[str, Any]]]
LONG = 1200
"""Code with more characters than this is folded."""


def read(path: Path) -> Claims:
    """The verdicts by id and version."""
    if not path.exists():
        raise SystemExit(f"{path} is missing: `python tools/generate_audit.py` writes it")
    claims: dict[str, dict[str, Mapping[str, Any]]] = {}
    for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]:
        claims.setdefault(claim["id"], {})[claim["version"]] = claim
    return claims


def verdict_table(claims: Mapping[str, Mapping[str, Any]]) -> str:
    """Both sides: verdict, what the worst instance attains, the bound there, and how it was found."""
    head = ("side", "verdict", "attained", "bound", "ratio", "points", "how")
    rows = [
        (
            words(version),
            f'<span class="verdict {re.sub(r"[^a-z]+", "-", claim["verdict"])}">{words(claim["verdict"])}</span>',
            *(_number(claim[name]) for name in ("attained", "bound", "ratio")),
            f"{claim['attacks']:,}" if claim["attacks"] else "",
            words(claim["why"]),
        )
        for version, claim in claims.items()
    ]
    return table(head, rows)


def counterexample(claim: Mapping[str, Any] | None) -> str:
    """The instance that refutes a printed claim, as code that is run here."""
    if claim is None or not claim.get("counterexample"):
        return ""
    found = claim["counterexample"]
    document = {"id": claim["id"], "version": claim["version"], "attack": found["attack"], "data": found["data"]}
    code = counterexample_code(document)
    said = output_of(code, f"the counterexample to {claim['id']}")
    if "refuted" not in said:
        raise RuntimeError(f"the counterexample to {claim['id']} does not refute it: {said}")
    shown = fenced(code, "python")
    return page(
        "### A counterexample that runs",
        f"<p>Found by: {words(claim['why'])}. The instance is measured anew, in plain numpy:</p>",
        folded("The instance as code", shown, "example") if len(code) > LONG else shown,
        fenced(said, "text"),
    ).rstrip()


def counterexample_code(document: Mapping[str, Any]) -> str:
    """A few lines that rebuild the instance and compare it with the claim."""
    data = pprint.pformat(dict(document), width=100, compact=True, sort_dicts=False)
    return (
        "from certiformer.auditing.runner import recheck\n\n"
        f"found = recheck({data})\n"
        'print(f"attained {found.attained:.6g}, bound {found.bound:.6g}: {found.outcome}")\n'
    )


def _number(value: float | str | None) -> str:
    if value is None:
        return ""
    return words(value) if isinstance(value, str) else f"{value:.4g}"
