"""What was typed, as values: parts of a grid, other grids, files to write."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certiformer.cli import _pairs
from certiformer.theory.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.reproduction.study_registry import Scale, Study
    from certiformer.reproduction.sweep import Experiment

PUBLISHED = ".runs"
ENDINGS = (".csv", ".json", PUBLISHED)


@dataclass(frozen=True)
class Wanted:
    """The runs that are asked for: of these experiments, at a scale (None: not said), a part, with other values."""

    studies: Sequence[Study]
    scale: str | None
    size: Scale
    part: Mapping[str, Any]
    values: Mapping[str, Sequence[Any]]

    def grid(self, study: Study) -> Experiment:
        """The runs of an experiment, at the scale `size`."""
        from certiformer.reproduction.reproduce import grid_of

        return grid_of(study, self.size, self.part, self.values)

    def grids(self, study: Study) -> Mapping[Scale, Experiment]:
        """The same at the scale that was said, or at every one."""
        from certiformer.reproduction.reproduce import grids_of

        return grids_of(study, self.scale, self.part, self.values)


def lists(option: str, given: Sequence[str] | None) -> dict[str, list[Any]]:
    """`seed=0:20` as {"seed": [0, ..., 19]}, `lag=4,16` or `lag=4` and `lag=16` as {"lag": [4, 16]}."""
    found: dict[str, list[Any]] = {}
    for name, text in _pairs.split(option, given, f"Such as {option} seed=0"):
        values: list[Any] = []
        for part in text.split(","):
            first, colon, last = part.partition(":")
            if colon and first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
                values += range(int(first), int(last))
            else:
                values.append(_pairs.value(part))
        if not values:
            raise InputError(option, f"{name}={text}", "at least one value", f"Such as {option} {name}=0:20.")
        found.setdefault(name, []).extend(values)
    return found


def writable(path: Path) -> None:
    """Found out before hours of work, not after."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError("--export", str(path), f"a file name that ends in {', '.join(ENDINGS)}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InputError("--export", str(path), "a file in a folder that exists and can be written to")


def publishable(path: Path, names: Collection[str]) -> None:
    """A file to publish has the runs of one experiment, which several figures may share."""
    if path.suffix == PUBLISHED and len(names) > 1:
        fix = "Name one experiment after another, or write all of them to a .csv or .json file."
        raise InputError("--export", str(path), f"runs of one experiment, not of {len(names)}", fix)
