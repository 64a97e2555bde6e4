"""The demo's recipe at any n: zeros and ones, every certificate, and what it bounds measured on fresh images.

The pool is made of the 12,115 images that had no part in choosing the settings: the 10,000 of the demo and the test
images. A seed orders it; the first n images are the sample, half of them to fit and half to certify where a certificate
needs that, and all others are fresh. So sample and fresh images are exchangeable.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np

from certiformer.certificates import Evidence
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.occam import Occam
from certiformer.certificates.progressive import Progressive
from certiformer.experiments import _certificates_encoder as recipe
from certiformer.models.shallow_encoder import ShallowEncoder
from certiformer.sweep.run import Config

POOL = 12_115
WATCHED = 2_000
"""Fresh images on which every iterate of a pass is measured; 2,115 are left at n = 10,000."""


@functools.lru_cache(maxsize=1)
def pool() -> recipe.Images:
    """All images but those of the development part."""
    _, certified, test = recipe.images(recipe.Settings())
    return recipe.Images(np.concatenate([certified.x, test.x]), np.concatenate([certified.y, test.y]))


def division(n: int, seed: int) -> tuple[recipe.Images, recipe.Images]:
    """The sample of n images and the fresh ones."""
    order = np.random.default_rng([recipe.DEVELOPMENT_SEED, seed]).permutation(POOL)
    return pool().take(order[:n]), pool().take(order[n:])


def settings_of(config: Config) -> recipe.Settings:
    """The demo's settings with the lengths of training that the configuration names."""
    return replace(
        recipe.Settings(),
        encoder_steps=config["encoder_steps"],
        head_steps=config["head_steps"],
        occam_steps=config["occam_steps"],
        occam_seeds=config["occam_seeds"],
        progressive_steps=config["progressive_steps"],
    )


def judged(config: Config) -> list[tuple[Evidence, float]]:
    """The record of every certificate, and the fresh images' estimate of what it bounds for its own predictor."""
    settings, n, seed = settings_of(config), config["n"], config["seed"]
    sample, fresh = division(n, seed)
    fit, certify = sample.take(np.arange(n // 2)), sample.take(np.arange(n // 2, n))
    encoder = recipe.train_encoder(settings, fit, seed, progress=False)
    held, new = recipe.scores_of(encoder, certify.x), recipe.scores_of(encoder, fresh.x)
    holdout = HoldOut(errors=recipe.errors_of(held, certify.y), n=len(certify.y), models=settings.tried)
    posterior = recipe.head_posterior(settings, encoder, certify)
    gibbs, drawn = recipe.pac_bayes(settings, encoder, posterior, certify, seed)
    gibbs_new, drawn_new = recipe.pac_bayes(settings, encoder, posterior, fresh, seed)
    return [
        (holdout, recipe.errors_of(new, fresh.y) / len(fresh.y)),
        (recipe.betting(settings, held, certify.y), float(np.mean(recipe.smoothed_losses(settings, new, fresh.y)))),
        (gibbs, gibbs_new.error),
        (drawn, drawn_new.errors / drawn_new.n),
        _occam(settings, sample, fresh),
        _progressive(settings, sample, fresh, seed),
    ]


def _occam(settings: recipe.Settings, sample: recipe.Images, fresh: recipe.Images) -> tuple[Occam, float]:
    """The best of a few seeds' codewords, all of them paid for."""
    words = [
        (seed, recipe.occam_codeword(settings, sample, seed, progress=False)) for seed in range(settings.occam_seeds)
    ]
    seed, z = min(words, key=lambda word: recipe.occam_limit(settings, sample, *word))
    network, parts = recipe.decode(settings, seed, z), recipe.code_length(settings, z)
    record = Occam(
        errors=recipe.errors_of(recipe.scores_of(network, sample.x), sample.y),
        n=len(sample.y),
        code_length=math.fsum(parts.values()),
        parts=parts,
    )
    return record, recipe.errors_of(recipe.scores_of(network, fresh.x), fresh.y) / len(fresh.y)


def _progressive(
    settings: recipe.Settings, sample: recipe.Images, fresh: recipe.Images, seed: int
) -> tuple[Progressive, float]:
    """One pass; what is bounded is the mean risk of the iterates, each counted as often as it predicted."""
    watched = fresh.take(np.arange(WATCHED))
    errors = 0

    def watch(iterate: ShallowEncoder, predicted: int) -> None:
        nonlocal errors
        errors += predicted * recipe.errors_of(recipe.scores_of(iterate, watched.x), watched.y)

    losses = recipe.progressive_pass(settings, sample, seed, progress=False, watch=watch)
    record = Progressive(mean_loss=float(np.mean(losses)), n=len(losses), models=settings.tried)
    return record, errors / (len(losses) * WATCHED)
