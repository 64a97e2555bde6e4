"""Tasks by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from jaxtyping import PRNGKeyArray

from certiformer.lab.tasks._task import Task
from certiformer.lab.tasks.autoregressive import Autoregressive, autoregressive
from certiformer.lab.tasks.heavy_tails import HeavyTails, heavy_tails
from certiformer.lab.tasks.masked_words import MaskedWords, masked_words
from certiformer.lab.tasks.mnist import mnist
from certiformer.lab.tasks.ntk_teacher import NTKTeacher, ntk_teacher
from certiformer.lab.tasks.own import own
from certiformer.lab.tasks.sparse_majority import sparse_majority
from certiformer.lab.tasks.tokenized_mixture import TokenizedMixture, tokenized_mixture
from certiformer.theory.core.errors import UnknownNameError

# A generator, and what else takes the settings that it hands on.
GENERATORS: dict[str, tuple[Callable[..., Task], Callable[..., Any] | None]] = {
    "mnist": (mnist, None),
    "sparse_majority": (sparse_majority, None),
    "tokenized_mixture": (tokenized_mixture, TokenizedMixture.draw),
    "ntk_teacher": (ntk_teacher, NTKTeacher.draw),
    "autoregressive": (autoregressive, Autoregressive.draw),
    "heavy_tails": (heavy_tails, HeavyTails.draw),
    "masked_words": (masked_words, MaskedWords.draw),
}


def names() -> list[str]:
    """The names that `build` knows."""
    return list(GENERATORS)


def settings(name: str) -> dict[str, Any]:
    """The settings of the task `name` with their defaults."""
    found: dict[str, Any] = {}
    for function in _generator(name):
        if function is not None:
            for parameter in inspect.signature(function).parameters.values():
                if parameter.kind is parameter.KEYWORD_ONLY:
                    found.setdefault(parameter.name, parameter.default)
    return found


def build(name: str, key: PRNGKeyArray, **chosen: Any) -> Task:
    """The task `name`: everything random about it, from the source to the samples, is determined by `key`."""
    known = settings(name)
    for setting in chosen:
        if setting not in known:
            raise UnknownNameError(f"setting of {name}", setting, known, hint=f"(known: {', '.join(known)})")
    return _generator(name)[0](key, **chosen)


def _generator(name: str) -> tuple[Callable[..., Task], Callable[..., Any] | None]:
    if name.endswith(".npz"):
        return functools.partial(own, name), None
    key = name.lower().replace("-", "_")
    if key not in GENERATORS:
        raise UnknownNameError("task", name, GENERATORS, hint=f"(known: {', '.join(GENERATORS)}, or a file .npz)")
    return GENERATORS[key]
