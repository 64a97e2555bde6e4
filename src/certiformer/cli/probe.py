"""`certiformer probe`: a frozen encoder and a head, from labelled texts to a certificate."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from certiformer.cli._output import Json, commanded, console, print_json, progress_bar
from certiformer.theory.core.errors import InputError


def probe(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="An encoder's folder: weights, config.json, tokenizer.")],
    texts: Annotated[Path, typer.Option(metavar="FILE", help="A CSV file with a header: text, label.")],
    text: Annotated[str, typer.Option(help="The column of the texts.")] = "text",
    label: Annotated[str, typer.Option(help="The column of the labels.")] = "label",
    group: Annotated[str | None, typer.Option(help="A column of groups: one text of each is used.")] = None,
    repeats: Annotated[
        str, typer.Option(help="Texts that repeat: refuse, group (one of each), natural (independent draws).")
    ] = "refuse",
    most: Annotated[int | None, typer.Option(help="Use at most so many texts, drawn at random.")] = None,
    tokens: Annotated[int, typer.Option(help="Texts are cut at so many tokens.")] = 128,
    models: Annotated[int, typer.Option(help="How many encoders or settings are tried on these texts.")] = 1,
    delta: Annotated[float, typer.Option(help="Probability that any guarantee of the report is wrong.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the draws.")] = 0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report, heads and features go.")] = Path("out"),
    head: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certified head: label the texts with it instead.")
    ] = None,
    adapter: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Settings (.toml) of an adapter, written before: train and certify it instead."
        ),
    ] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep embeddings on disk, by content.")] = True,
    json: Json = False,
) -> None:
    """Train and certify a text classifier on a frozen encoder.

    Labelled texts are embedded, heads are trained, and their error rates are limited.
    """
    from certiformer.lab.probing import adapter as adapters
    from certiformer.lab.probing import probe as probing
    from certiformer.report.screen import first_screen

    _refuse_unused(context, "--head" if head else "--adapter" if adapter else "")
    with progress_bar("embedding", quiet=json) as progress:
        said: Any = {"cache": cache, "progress": progress}
        if head is not None:
            found = probing.predict(path, head, texts, text=text, **said)
        elif adapter is not None:
            said |= {"text": text, "label": label, "repeats": repeats, "delta": delta}
            made: Any = adapters.adapt(path, texts, adapters.AdapterSettings.of(adapter), **said)
        else:
            columns = probing.Columns(text, label, group)
            said |= {"repeats": repeats, "most": most, "tokens": tokens, "models": models, "delta": delta, "seed": seed}
            made = probing.probe(path, texts, columns=columns, **said)
    if head is not None:
        if json:
            print_json({"predictions": found})
        else:
            sys.stdout.write("".join(f"{name}\n" for name in found))
        return
    made = replace(made, report=commanded(made.report))
    page, report = made.write(out)
    document = made.report.document
    if json:
        print_json(document if adapter is None else {**document, "adapter": made.card})
        return
    console.print(first_screen(made.report, page, report))
    if adapter is not None:
        console.print(adapters.told(made.card))
        console.print(f"wrote {page}, {report} and adapter.json")
        return
    read = document["provenance"]
    console.print(f"{read['rows']:,} rows, {read['repeated_texts']:,} of them with a text that occurred before")
    console.print(f"wrote {page}, {report}, features.npz and the heads {', '.join(made.report.files)}")
    console.print("check it: certiformer verify report.json --data features.npz; use it: certiformer probe --head FILE")


UNUSED = {
    "--head": ("label", "group", "repeats", "most", "tokens", "models", "delta", "seed", "adapter", "out"),
    "--adapter": ("group", "most", "tokens", "models", "seed"),
}
"""Options that change nothing beside another one."""


def _refuse_unused(context: typer.Context, beside: str) -> None:
    for name in UNUSED.get(beside, ()):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name}", "given", f"no such option beside {beside}", "It would change nothing")
