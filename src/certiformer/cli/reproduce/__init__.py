"""`certiformer reproduce`: a paper's figure or table next to ours. One thin module per verb; the first is `run`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from certiformer.cli.reproduce import merge, run, upgrade


class _RunFirst(TyperGroup):
    """`reproduce arda.fig1` is `reproduce run arda.fig1`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if known else ["run", *args])


app = typer.Typer(cls=_RunFirst, add_completion=False, help="A paper's figure or table next to ours.")
app.command()(run.run)
app.command()(merge.merge)
app.command()(upgrade.upgrade)
