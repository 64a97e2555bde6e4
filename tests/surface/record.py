"""What people can name, and what six commands say: recorded, so that a wall that moves changes neither.

`python -m surface.record` (with tests/ on the path) writes the records again; a commit that does so lists every change
in the CHANGELOG.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

import certiformer
from certiformer.cli import VERBS, application, main
from checkpoints import tiny

HERE = Path(__file__).parent
WALKS = {
    "certify": ["certify", str(HERE / "predictions.csv"), "--json"],
    "demo": ["demo", "--json"],
    "bound": [
        "bound",
        "trauger.thm4.1",
        "Bw=1",
        "Bc=2",
        "L_sigma=1",
        "Bv=1.5",
        "Bx=1",
        "C=0.5",
        "n=1e6",
        "d=64",
        "--json",
    ],
    "reproduce": ["reproduce", "arda.fig1", "--scale", "smoke", "--ledger", "ledger.db", "--workers", "1", "--json"],
    "inspect": ["inspect", "bert", "--json"],
    "audit": ["audit", "trauger.lem3.1", "--budget", "1", "--workers", "1", "--json"],
}
# Dates, durations, versions, processors and paths are of the machine, not of the answer.
OF_THE_MACHINE = re.compile(
    r"^(date|.*seconds.*|.*_cpu|certiformer|python|jax|equinox|numpy|scipy|command|commit|machine|index|ledger|version"
    r"|out|page|path|predictions|code_version|code|hours|.*processor.*|cached|digest)$"
)


def says(words: list[str]) -> Any:
    """The JSON that a command prints, in an empty folder, without what is of the machine."""
    out, argv, before = io.StringIO(), sys.argv, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            if "bert" in words:
                tiny.write_folder(Path("bert"), *tiny.bert())
            sys.argv = ["certiformer", *words]
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                try:
                    main()
                except SystemExit as left:
                    if left.code:
                        raise RuntimeError(f"{words}: exit code {left.code}") from left
        finally:
            sys.argv = argv
            os.chdir(before)
    return cleaned(json.loads(out.getvalue()))


def cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: cleaned(inner) for name, inner in value.items() if not OF_THE_MACHINE.match(name)}
    if isinstance(value, list):
        return [cleaned(inner) for inner in value]
    return value


def fields(value: Any, at: str = "") -> set[str]:
    """Every field of a JSON value by its path, lists and results of many names taken together."""
    if isinstance(value, dict):
        return {at} | {path for name, inner in value.items() for path in fields(inner, f"{at}.{name}".lstrip("."))}
    if isinstance(value, list):
        return {path for inner in value for path in fields(inner, f"{at}[]")} or {at}
    return {at}


def surface() -> dict[str, Any]:
    """Public names with their keywords, verbs with their options, ids."""
    names = {}
    for name in sorted(set(certiformer.__all__)):
        value = getattr(certiformer, name)
        names[name] = list(inspect.signature(value).parameters) if callable(value) else None
    return {"names": names, "verbs": {verb: options(verb) for verb in sorted(VERBS)}, "ids": ids()}


def options(verb: str) -> Any:
    command = typer.main.get_command(application([verb]))
    return _options(command.commands[verb])  # type: ignore[attr-defined]


def _options(command: Any) -> Any:
    if hasattr(command, "commands"):
        return {name: _options(inner) for name, inner in sorted(command.commands.items())}
    return sorted({text for parameter in command.params for text in (*parameter.opts, *parameter.secondary_opts)})


def ids() -> dict[str, list[str]]:
    registry = importlib.import_module("certiformer.reproduction.study_registry")
    return {
        "results": sorted(result.id for result in certiformer.results()),
        "studies": sorted(study.id for study in registry.studies()),
    }


def write() -> None:
    (HERE / "surface.json").write_text(json.dumps(surface(), indent=1) + "\n")
    for name, words in WALKS.items():
        (HERE / "walks" / f"{name}.json").write_text(json.dumps(says(words), indent=1) + "\n")


if __name__ == "__main__":
    write()
