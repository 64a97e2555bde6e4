"""What a number rests on, and who states it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from certiformer.theory.core.elementwise import agreed, several
from certiformer.theory.core.records import set_fields

State = Literal["verified", "stated", "open", "fails"]

_FILLERS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "every", "for", "from", "has", "in", "is", "it", "not"}
    | {"of", "on", "or", "that", "the", "these", "this", "to", "was", "with"}
)


@dataclass(frozen=True, init=False)
class Hypothesis:
    """A condition under which a number holds.

    `state` is "verified" (the program decided that it is true), "stated" (the caller said so), "open" (nobody did)
    or "fails". `why` says what was measured, who said so, or how it could be said. An open hypothesis that an input
    could have settled is `statable`: until it is settled the number is shown, but not offered as the best one.
    Open ones that no input can settle (independent examples) are named beside the number.
    """

    requires: str
    state: State
    why: str = ""
    statable: bool = False
    id: str = ""

    def __init__(self, requires: str, state: State, why: str = "", statable: bool = False, id: str = "") -> None:
        name = id or slug(requires)
        fields = {"requires": requires, "state": state, "why": why, "statable": statable, "id": name}
        set_fields(self, "__dict__", fields)

    @property
    def blocks(self) -> bool:
        """It is known to fail, or it is open although an input could have settled it."""
        return self.state == "fails" or (self.state == "open" and self.statable)

    def as_json(self) -> dict[str, Any]:
        """Id, words, state and why."""
        return {"id": self.id, "requires": self.requires, "state": self.state, "why": self.why}


def verified(requires: str, holds: bool, measured: float | str | None = None, *, id: str = "") -> Hypothesis:
    """A hypothesis that the program decided."""
    return Hypothesis(requires, "verified" if agreed(holds) else "fails", _shown(measured), id=id)


def _shown(measured: Any) -> str:
    if measured is None:
        return ""
    if several(measured):
        return f"here {measured.min():.6g} to {measured.max():.6g}"
    return f"here {measured:.6g}" if isinstance(measured, float) else f"here {measured}"


@functools.lru_cache(maxsize=4096)
def stated(requires: str, said: bool | None, by: str, *, id: str = "") -> Hypothesis:
    """A hypothesis that the caller settles with an input: `by` is what to write, `said` what was written."""
    if said is None:
        return Hypothesis(requires, "open", f"state it with {by}", statable=True, id=id)
    if said:
        return Hypothesis(requires, "stated", f"by the caller: {by}", id=id)
    return Hypothesis(requires, "fails", f"the caller denies {by}", id=id)


@functools.lru_cache(maxsize=4096)
def assumed(requires: str, *, id: str = "") -> Hypothesis:
    """A hypothesis about the world that no input settles: sampling, what was done before the data were seen."""
    return Hypothesis(requires, "open", "nobody but the caller can know", id=id)


@functools.lru_cache(maxsize=4096)
def slug(requires: str) -> str:
    """A short name made of the first words that carry meaning."""
    words = [word for word in re.findall(r"[a-z0-9]+", requires.lower()) if word not in _FILLERS]
    return "-".join(words[:6]) or "hypothesis"


_CERTAINTY: dict[str, int] = {"verified": 0, "stated": 1, "open": 2, "fails": 3}


def together(*groups: Iterable[Hypothesis]) -> tuple[Hypothesis, ...]:
    """All of them, each id once: of two with one id and words the less certain one stays."""
    found: dict[tuple[str, str], Hypothesis] = {}
    for group in groups:
        for hypothesis in group:
            key = (hypothesis.id, hypothesis.requires)
            known = found.get(key)
            if known is None or _doubt(hypothesis) > _doubt(known):
                found[key] = hypothesis
    return tuple(found.values())


def _doubt(hypothesis: Hypothesis) -> tuple[int, bool]:
    return _CERTAINTY[hypothesis.state], hypothesis.statable
