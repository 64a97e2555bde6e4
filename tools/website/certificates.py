"""One page per certificate: what it claims, what it does not, how often it fails where the risk is known."""

from __future__ import annotations

import html
import re

from certiformer.auditing.coverage import DELTA, Coverage, simulate
from certiformer.certificates import Evidence, certificates
from website.markup import bullets, page, table, words

REPETITIONS = 100
ALWAYS = (
    "Nothing about another distribution than the one the certified examples were drawn from.",
    "Nothing about groups within it, about single examples, or about adversarial inputs.",
    "Nothing if certified examples were used before, or if they are not independent units.",
)
_DENIAL = re.compile(r"\b(does not|says nothing|nothing follows|not about|is not covered)\b")


def file_of(id: str) -> str:
    return f"certificates/{id}.md"


def certificate_page(kind: type[Evidence], repetitions: int = REPETITIONS, seed: int = 1) -> str:
    """The words of the certificate itself, its laws simulated here, and the command."""
    claims, denies = claimed(kind)
    bound = kind.bound
    return page(
        f"# {html.escape(bound.title)}",
        f'<p class="facts"><code>{kind.id}</code> · bounds the {html.escape(kind.measures)} · '
        f'<a href="../results/{kind.id}.html">statement, proof, plot</a></p>',
        "## What it claims",
        f"<p>{words(claims)}</p>",
        "## What it does not claim",
        bullets([*denies, *ALWAYS]),
        "It rests on what nobody but you can know:" if bound.assumptions else "",
        bullets(bound.assumptions) if bound.assumptions else "",
        "## Coverage, simulated",
        f"Each law has a known risk and goes through `certify`, as a user's data would, {repetitions} times at "
        f"delta = {DELTA:g}. A valid law may fail in about that share; one that breaks a rule has to be caught. "
        "`make deep` repeats each ten thousand times.",
        coverage_table(kind, repetitions, seed),
        "## The command",
        _command(kind),
        f"Without such evidence the report says: *{kind.absent}*. Its weight when delta is divided: {kind.weight:g}.",
    )


def claimed(kind: type[Evidence]) -> tuple[str, list[str]]:
    """The paragraph of the certificate, taken apart: what is guaranteed, and the sentences that take something back."""
    text = kind.guarantee.replace("{subject}", "the predictor")
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)
    denies = [each for each in sentences if _DENIAL.search(each)]
    return " ".join(each for each in sentences if each not in denies), denies


def coverage_table(kind: type[Evidence], repetitions: int, seed: int) -> str:
    rows = []
    for name, law in kind.laws().items():
        found = simulate(kind.id, law, repetitions, seed)
        rows.append((words(name), "within the rules" if law.valid else "<em>breaks a rule</em>", *_counts(found)))
    return table(("law", "", "failures", "share", "chance of as many"), rows)


def _counts(found: Coverage) -> tuple[str, str, str]:
    return f"{found.failures} of {found.repetitions}", f"{100 * found.rate:.1f} %", f"{found.p_value:.2g}"


def _command(kind: type[Evidence]) -> str:
    return f"```text\n{kind.bound.example}\n```\n\nIn a report it is a row: [how to certify](../certificates.md)."


def index_page() -> str:
    """All certificates, one line each."""
    rows = [
        (
            f'<a href="{id}.html"><code>{id}</code></a>',
            html.escape(kind.bound.title),
            html.escape(kind.measures),
            f"{len(kind.laws())}",
        )
        for id, kind in certificates().items()
    ]
    return page(
        "# All certificates",
        "What they share, how delta is divided and which files they read: [certificates](../certificates.md).",
        table(("certificate", "title", "bounds", "laws simulated"), rows),
    )
