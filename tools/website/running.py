"""Code on a page is run when the page is made, and what it prints stands under it."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from rich.console import Console, RenderableType


def output_of(code: str, name: str, space: dict[str, Any] | None = None) -> str:
    """What the code prints; an error ends the build with the name of the page."""
    said = io.StringIO()
    space = {"__name__": "__main__"} if space is None else space
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(code, name, "exec"), space)
    except Exception as error:
        raise RuntimeError(f"the code of {name} does not run: {error}") from error
    return said.getvalue()


def terminal(shown: RenderableType, width: int = 96) -> str:
    """What a terminal of this width would show."""
    paper = Console(file=io.StringIO(), width=width, no_color=True, highlight=False, soft_wrap=False)
    paper.print(shown)
    return "\n".join(line.rstrip() for line in paper.file.getvalue().splitlines())  # type: ignore[attr-defined]
