"""Of several runs of one configuration, of different versions, which one counts."""

from __future__ import annotations

from collections.abc import Iterable

from certiformer.reproduction.sweep.ledger import Row
from certiformer.reproduction.sweep.run import canonical


def counting(rows: Iterable[Row], version: int) -> dict[str, Row]:
    """Finished runs by configuration: that of `version` where there is one, else the latest."""
    done = [row for row in rows if row.state == "done"]
    done.sort(key=lambda row: (row.version == version, row.finished or 0.0))
    return {canonical(row.config): row for row in done}
