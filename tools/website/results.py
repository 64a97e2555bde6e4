"""One page per result, made from its class: statement, status, defects, what holds, a plot, the audit, the command."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path

from certiformer.report.explanation import bibtex_entry
from certiformer.report.result_tables import evaluation_table
from certiformer.theory.core import Input, Result, Status, papers, results
from website import verdicts
from website.curves import drawing
from website.formulas import display, typeset
from website.markup import bullets, fenced, folded, page, paragraphs, table, words
from website.proofs import proof_of
from website.running import terminal
from website.series import example_inputs, series
from website.settings import OUR_OWN, named
from website.sliders import own_sliders


def file_of(id: str) -> str:
    """The page of a result, below the folder of all pages."""
    return f"results/{id}.md"


def result_page(result: type[Result], claims: verdicts.Claims, root: Path) -> str:
    """One result in full."""
    own = claims.get(result.id, {})
    return page(
        "---\n" + f"title: {_quoted(f'{result.id}: {result.title}')}\n---",
        f"# {html.escape(named(result))}",
        _facts(result),
        paragraphs(result.sections.prose, greek=True),
        _as_printed(result),
        _defects(result),
        verdicts.counterexample(own.get("printed")),
        _what_holds(result, root),
        _plot(result),
        own_sliders(result),
        _audit(own),
        _inputs(result),
        _command(result),
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'


def badge(result: type[Result]) -> str:
    """The status as a coloured word."""
    word = result.status.value
    return f'<span class="status {word.replace(" ", "-")}" title="{result.status.meaning}">{word}</span>'


def _facts(result: type[Result]) -> str:
    where = result.place if result.status is Status.NONE else f"{result.paper.short}, {result.place}"
    parts = [f"<code>{result.id}</code>", html.escape(where), f"bounds the {html.escape(result.bounds.value)}"]
    said = "" if result.status is Status.NONE else f" {badge(result)}"
    return f'<p class="facts">{" · ".join(parts)}{said}</p>'


def _as_printed(result: type[Result]) -> str:
    if not result.has_printed():
        return ""
    story = result.sections
    return page(
        "## As printed",
        display(story.printed_latex) if story.printed_latex else "",
        f'<p class="plain">{words(story.printed, greek=True)}</p>',
        f"<p><strong>{result.status.value}</strong> ({result.status.meaning}): {words(result.reason, greek=True)}.</p>",
    ).rstrip()


def _defects(result: type[Result]) -> str:
    return page("## What is wrong with it", bullets(result.defects, greek=True)).rstrip() if result.defects else ""


def _what_holds(result: type[Result], root: Path) -> str:
    story, proof = result.sections, proof_of(result, root)
    title = proof.heading or "the page of proofs"
    told = typeset(_moved(proof.text, proof.page), greek=True)
    return page(
        "## What holds",
        display(story.sound_latex) if story.sound_latex else "",
        f'<p class="plain">{words(story.sound, greek=True)}</p>',
        "Assumed; only you can know whether it holds:" if result.assumptions else "",
        bullets(result.assumptions, greek=True) if result.assumptions else "",
        f"Proof: [{_link_text(title)}](../{proof.link}).",
        folded("The proof", told, "abstract") if told else "",
    ).rstrip()


def _link_text(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def _moved(text: str, page_of_proofs: str) -> str:
    """The text of a page of proofs as it stands on another page: links lead back to where they led."""
    folder = page_of_proofs.rpartition("/")[0]
    return re.sub(r"\]\((?!https?:|#|/)([^)]+)\)", rf"](../{folder}/\1)", text)


def _plot(result: type[Result]) -> str:
    found = series(result)
    if found is None:
        return ""
    entry = next(entry for entry in result.inputs if entry.name == found.input)
    rest = ", ".join(f"{name} = {_shown(value)}" for name, value in found.given.items())
    caption = f"The {result.bounds.value} against <code>{found.input}</code>, {words(entry.meaning, greek=True)}"
    caption += f". The other inputs: {html.escape(rest)}." if rest else "."
    caption += " Sound variants are drawn where none of their hypotheses fails."
    return page(
        "## Printed and sound" if result.has_printed() else "## Drawn",
        f"<figure>{drawing(found, result.bounds.value)}<figcaption>{caption}</figcaption></figure>",
    ).rstrip()


def _shown(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return ",".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _audit(own: Mapping[str, Mapping[str, object]]) -> str:
    if not own:
        return ""
    return page("## The audit", verdicts.verdict_table(own), "What the words mean: [the audit](../audit.md).").rstrip()


def _inputs(result: type[Result]) -> str:
    rows = [
        (
            f"<code>{entry.name}</code>",
            words(entry.meaning, greek=True),
            html.escape(entry.short_range or "any"),
            _default(entry),
        )
        for entry in result.inputs
    ]
    return page("## Inputs", table(("name", "meaning", "range", "when left out"), rows)).rstrip()


def _default(entry: Input) -> str:
    if entry.required:
        return "required"
    if entry.factory is not None or (entry.default is None and entry.otherwise):
        return words(entry.left_out)
    return "" if entry.default is None else html.escape(_shown(entry.default))


def _command(result: type[Result]) -> str:
    given = example_inputs(result)
    said = terminal(evaluation_table(result.evaluate(given)))
    arguments = ", ".join(f"{name}={_python(value)}" for name, value in given.items())
    return page(
        "## The command",
        fenced(f"$ {result.example}\n{said}", "text"),
        fenced(f'import certiformer\n\ncertiformer.bound("{result.id}", {arguments})', "python"),
        folded("BibTeX", fenced(bibtex_entry(result), "bibtex"), "quote") if result.status is not Status.NONE else "",
    ).rstrip()


def _python(value: object) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def index_page(claims: verdicts.Claims) -> str:
    """Every result, paper by paper, with its status and what the audit said."""
    parts = ["# All results", bullets(f"{status.value}: {status.meaning}" for status in Status)]
    for key, paper in papers().items():
        own = [result for result in results().values() if result.paper.key == key]
        rows = [
            (
                f'<a href="{result.id}.html"><code>{result.id}</code></a>',
                html.escape(result.title),
                html.escape(result.bounds.value),
                badge(result) if result.status is not Status.NONE else "",
                _verdict_words(claims.get(result.id, {})),
            )
            for result in own
        ]
        parts += [
            f"## {f'Our own: {key}' if key in OUR_OWN else html.escape(paper.short)}",
            "" if key in OUR_OWN else f"<p>{html.escape(paper.reference)}</p>",
            table(("result", "title", "bounds", "printed", "audit: printed, sound"), rows),
        ]
    return page(*parts)


def _verdict_words(own: Mapping[str, Mapping[str, object]]) -> str:
    return ", ".join(words(str(own[version]["verdict"])) if version in own else "–" for version in ("printed", "sound"))
