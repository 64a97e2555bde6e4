"""The command line as a page: every verb, argument and option from the program itself, and the exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from certiformer.cli import VERBS, application
from website.markup import page, table, words

FILE = "reference/commands.md"
EXIT_CODES = (
    ("0", "done; `gate`, `--require`: pass; `verify`, `check`: everything agrees; `verify --proof`: checked"),
    ("1", "`gate`, `--require`: fail; `verify`, `check`: something differs; `watch --fail-on-alarm`: an alarm"),
    ("2", "wrong use: one line on stderr names the value, what was expected, and how to mend it"),
    ("3", "`gate`, `--require`: undecided; `verify --proof`: there is no proof kernel here"),
    ("130, 141, 143", "stopped by Ctrl-C; by a reader that closed the pipe; by SIGTERM"),
)
HIDDEN = ("help", "install_completion", "show_completion")


def commands_page() -> str:
    """Exit codes, then the verbs in the order of the help."""
    command: Any = typer.main.get_command(application(tuple(VERBS)))
    codes = [(f"<code>{code}</code>", words(meaning)) for code, meaning in EXIT_CODES]
    return page(
        "# Commands, options, exit codes",
        "Made from the program: `certiformer VERB --help` says the same.",
        "## Exit codes",
        table(("exit code", "meaning"), codes),
        *(part for name, inner in command.commands.items() for part in _command(f"certiformer {name}", inner)),
    )


def _command(path: str, command: Any) -> Iterator[str]:
    about = " ".join(re.sub(r"\s+", " ", part) for part in (command.help or "").split("\n\n"))
    yield f"## `{path}`"
    yield f"<p>{words(about.strip())}</p>"
    rows = [_row(one) for one in command.params if one.name not in HIDDEN]
    if rows:
        yield table(("name", "value", "default", "what it does"), rows)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _command(f"{path} {name}", inner)


def _row(parameter: Any) -> tuple[str, str, str, str]:
    flag = getattr(parameter, "is_flag", False)
    names = ", ".join((*parameter.opts, *parameter.secondary_opts)) if parameter.param_type_name == "option" else ""
    value = "" if flag else str(parameter.metavar or parameter.type.name)
    default = parameter.default
    shown = "required" if parameter.required else "" if default is None or flag or default in ((), []) else str(default)
    name = names or str(parameter.metavar or parameter.name)
    return f"<code>{name}</code>", words(value) if names else "", words(shown), words(parameter.help or "")
