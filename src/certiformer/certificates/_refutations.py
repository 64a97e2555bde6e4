"""Printed statements that are refuted in files which a proof kernel reads: proofs/refutations, one file per result."""

from __future__ import annotations

import functools
from importlib import resources
from importlib.resources.abc import Traversable

from certiformer.theory.core.errors import UnknownNameError


def proofs() -> Traversable:
    """The folder of everything that is written for the kernel."""
    return resources.files("certiformer.certificates") / "proofs"


@functools.cache
def refutations() -> tuple[str, ...]:
    """The ids of the results; a file has its result's id with _ for every dot: deora_eq14.v."""
    found = (entry.name for entry in (proofs() / "refutations").iterdir())
    return tuple(sorted(name.removesuffix(".v").replace("_", ".") for name in found if name.endswith(".v")))


def refutation_command(id: str) -> str | None:
    """The command that has the refutation of a result checked; None if there is none."""
    return f"certiformer explain {id} --proof" if id in refutations() else None


def refutation_of(id: str) -> str:
    """The text of the refutation of a result: the printed sentence, how it is read, the counterexample."""
    if id not in refutations():
        raise UnknownNameError("refutation", id, refutations(), f"A kernel reads those of {', '.join(refutations())}")
    return (proofs() / "refutations" / f"{id.replace('.', '_')}.v").read_text(encoding="utf-8")
