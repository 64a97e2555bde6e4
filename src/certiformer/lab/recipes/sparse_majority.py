"""Sparse majority in minimal coordinates: the task, the network of `coordinates.majority`, and its certificates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import jax
import numpy as np

from certiformer.certificates.cover_soft import SoftCover
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.certification.pipeline import Findings
from certiformer.certification.rebuild import Examples
from certiformer.lab.coordinate_covers import majority
from certiformer.lab.coordinate_covers.majority import Heads, Settings
from certiformer.lab.tasks import Dataset, Task
from certiformer.lab.tasks.sparse_majority import sparse_majority
from certiformer.theory.core.errors import InputError

SETTINGS = {20: Settings(), 100: Settings(tokens=100, heads=3, restarts=256, decay=4e-6, grid=2.0)}

LARGEST = 10**8
"""Bits that are drawn again for a report at most: a file from elsewhere must not take all memory."""


def findings(settings: Settings | None = None, *, seed: int = 7) -> Findings:
    """Draw a task, train, count. O certifies the network on the grid, M the network before rounding."""
    settings = settings or Settings()
    task = _task(settings, seed)
    place = majority.coordinates(task.source.table, settings.tolerance)
    bits, signs = np.asarray(task.train.inputs), 2.0 * np.asarray(task.train.labels) - 1.0
    alpha = majority.match(settings, place, majority.correlations(bits, signs), seed)
    z = majority.round_off(settings, place, alpha, bits, signs)
    on_grid, free = (Heads(task.source.table, point, settings) for point in (z, alpha))
    counted = (settings, place, alpha, signs * free.outputs(bits))
    parts = majority.code_length(settings, z)
    errors, named = _errors(on_grid, task.train), f"{settings.heads} heads in {z.size} minimal coordinates"
    real: dict[str, Any] = {"n": settings.n, "subject": f"{named}, before rounding", "predictor": free}
    exact: dict[str, Any] = {"n": settings.n, "subject": f"{named}, on a grid", "predictor": on_grid}
    return Findings(
        title=f"sparse majority, T = {settings.tokens}",
        classes=2,
        observed={
            "train_error": errors / settings.n,
            "heldout_error": _errors(on_grid, task.test) / len(task.test.labels),
            "train_error_before_rounding": _errors(free, task.train) / settings.n,
            "heldout_error_before_rounding": _errors(free, task.test) / len(task.test.labels),
            "examples": settings.n,
            "coordinates": z.size,
        },
        evidence=(
            Occam(errors=errors, code_length=math.fsum(parts.values()), parts=parts, **exact),
            SoftCover(scales=majority.soft_scales(*counted), **real),
            Margin(scales=majority.margin_scales(*counted), **real),
        ),
        configuration={"recipe": "sparse_majority", **asdict(settings)},
        seed=seed,
        tried=settings.tried,
    )


def examples(provenance: Mapping[str, Any]) -> dict[str, Examples]:
    """The sequences that every row was counted on, drawn again: what `certiformer verify` counts."""
    settings = Settings(**{one.name: provenance[one.name] for one in fields(Settings)})
    if not (0 < settings.n * settings.tokens <= LARGEST and 0 < settings.tokens <= 1000):
        raise InputError("n, tokens", (settings.n, settings.tokens), f"a product of at most {LARGEST:,}")
    task = _task(settings, int(provenance["seed"]))
    inputs = majority.Sequences(np.asarray(task.train.inputs), np.asarray(task.source.table))
    return dict.fromkeys(("occam", "cover.soft", "margin"), Examples(inputs, np.asarray(task.train.labels, np.int64)))


def _task(settings: Settings, seed: int) -> Task:
    return sparse_majority(jax.random.key(seed), n=settings.n, tokens=settings.tokens, embedded=False)


def _errors(heads: Heads, part: Dataset) -> int:
    return heads.errors(np.asarray(part.inputs), np.asarray(part.labels, np.int64))
