"""Sparse majority in minimal coordinates: the task, the network of `coordinates.majority`, and its certificates."""

from __future__ import annotations

import math
from dataclasses import asdict

import jax
import numpy as np

from certiformer.certificates.cover_soft import SoftCover
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.certification.coordinates import majority
from certiformer.certification.coordinates.majority import Settings
from certiformer.certification.evidence import Findings
from certiformer.tasks.sparse_majority import sparse_majority

SETTINGS = {20: Settings(), 100: Settings(tokens=100, heads=3, restarts=256, decay=4e-6, grid=2.0)}


def findings(settings: Settings | None = None, *, seed: int = 7) -> Findings:
    """Draw a task, train, count. O certifies the network on the grid, M the network before rounding."""
    settings = settings or Settings()
    task = sparse_majority(jax.random.key(seed), n=settings.n, tokens=settings.tokens, embedded=False)
    place = majority.coordinates(task.source, settings.tolerance)
    bits, signs = np.asarray(task.train.inputs), 2.0 * np.asarray(task.train.labels) - 1.0
    test_bits, test_signs = np.asarray(task.test.inputs), 2.0 * np.asarray(task.test.labels) - 1.0
    alpha = majority.match(settings, place, majority.correlations(bits, signs), seed)
    z = majority.round_off(settings, place, alpha, bits, signs)
    rounded = settings.grid * z.astype(np.float64)
    margins = signs * majority.outputs(place, alpha, bits)
    parts = majority.code_length(settings, z)
    errors = int(np.sum(signs * majority.outputs(place, rounded, bits) <= 0))
    named = f"{settings.heads} heads in {z.size} minimal coordinates"
    return Findings(
        title=f"sparse majority, T = {settings.tokens}",
        classes=2,
        observed={
            "train_error": errors / settings.n,
            "heldout_error": float(np.mean(test_signs * majority.outputs(place, rounded, test_bits) <= 0)),
            "train_error_before_rounding": float(np.mean(margins <= 0)),
            "heldout_error_before_rounding": float(
                np.mean(test_signs * majority.outputs(place, alpha, test_bits) <= 0)
            ),
            "examples": settings.n,
            "coordinates": z.size,
        },
        evidence=(
            Occam(
                errors=errors,
                n=settings.n,
                code_length=math.fsum(parts.values()),
                parts=parts,
                subject=f"{named}, on a grid",
            ),
            SoftCover(
                n=settings.n,
                scales=majority.soft_scales(settings, place, alpha, margins),
                subject=f"{named}, before rounding",
            ),
            Margin(
                n=settings.n,
                scales=majority.margin_scales(settings, place, alpha, margins),
                subject=f"{named}, before rounding",
            ),
        ),
        configuration={"recipe": "sparse_majority", **asdict(settings)},
        splits={},
        seed=seed,
        tried=settings.tried,
    )
