"""`certiformer inspect`: what theory says of checkpoints, layer by layer, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from certiformer.cli._output import Form, answered, console, forms, progress_bar

if TYPE_CHECKING:
    from certiformer.checkpoints import Inspection


@forms("json", "csv", "markdown")
def inspect(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Folders or files: safetensors, PyTorch, GGUF, npz, LoRA.")
    ],
    reference: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The pre-trained checkpoint: centres the class there.")
    ] = None,
    base: Annotated[Path | None, typer.Option(metavar="PATH", help="The base of a LoRA adapter.")] = None,
    heads: Annotated[int | None, typer.Option(help="Attention heads, where the file does not say.")] = None,
    activation: Annotated[str | None, typer.Option(help="relu, gelu, ..., where the file does not say.")] = None,
    norm_first: Annotated[
        bool | None, typer.Option("--norm-first/--norm-last", help="Where the file does not say.")
    ] = None,
    input_radius: Annotated[float | None, typer.Option(help="Bound on the input tokens of a bare encoder.")] = None,
    assume_unused: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A tensor or key that plays no part; may be repeated."),
    ] = None,
    tensors: Annotated[bool, typer.Option("--tensors", help="A row per tensor, too.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write page, JSON, CSV and figure there.")] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep norms on disk, by content.")] = True,
    form: Form = "",
) -> None:
    """Norms, sensitivities and covering bounds of a checkpoint."""
    from certiformer.checkpoints import Options
    from certiformer.checkpoints import inspect as run
    from certiformer.report.checkpoints import comparison_table, inspection_table, layer_rows, tensor_rows

    documents = []
    for at, path in enumerate(paths):
        chosen = Options(
            reference=reference,
            against=reference or (paths[0] if at else None),
            base=base,
            heads=heads,
            activation=activation,
            norm_first=norm_first,
            input_radius=input_radius,
            assume_unused=tuple(assume_unused or ()),
            cache=cache,
        )
        with progress_bar(path.name, quiet=bool(form)) as progress:
            documents.append(run(path, chosen, progress))
    whole = documents[0] if len(documents) == 1 else {"checkpoints": documents}
    if out is not None:
        _write(out, documents, whole)
    if answered(form, lambda: whole, lambda: (tensor_rows if tensors else layer_rows)(documents)):
        return
    for document in documents:
        console.print(inspection_table(document, tensors=tensors))
        console.print()
    if len(documents) > 1:
        console.print(comparison_table(documents))
    if out is not None:
        console.print(f"wrote {out / 'inspect.html'}, inspect.json, inspect.csv and layers.svg")


def _write(out: Path, documents: list[Inspection], whole: object) -> None:
    import json

    from certiformer.report.checkpoints import checkpoint_page, layer_figure, tensors_csv
    from certiformer.theory.core.whole_files import write_folder

    files = {
        "inspect.html": checkpoint_page(documents),
        "inspect.json": json.dumps(whole, indent=2, allow_nan=False) + "\n",
        "inspect.csv": tensors_csv(documents),
    }
    first = next((document for document in documents if document["layers"]), None)
    if first is not None:
        files["layers.svg"] = str(layer_figure(first))
    write_folder(out, files)
