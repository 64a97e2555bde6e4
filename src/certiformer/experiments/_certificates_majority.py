r"""Sparse majority at any n: the recipe's networks, every certificate, and what it bounds, exactly.

The recipe certifies by O (its network on the grid) and M (before rounding), both from all n examples. The others here:

- V: the examples in blocks that double, each predicted by the network trained on all before it;
- H, B: the last of those networks, trained on the first half, on the second half;
- K, K1: prior N(alpha, sigma^2) around that network's coordinates, posterior mean fitted on the second half.

There are 2^T inputs, equally likely: a risk is an average over all of them, that of the posterior one over pairs.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array
from numpy.typing import NDArray

from certiformer.calculus.softmax import softmax
from certiformer.certificates import Evidence
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certificates.progressive import Progressive
from certiformer.certification.coordinates import majority as recipe
from certiformer.certification.recipes.sparse_majority import SETTINGS
from certiformer.experiments import _certificates_encoder as mnist
from certiformer.sweep.run import Config
from certiformer.tasks.sparse_majority import sparse_majority

Array64 = NDArray[np.float64]
Integers = NDArray[np.int64]

FIRST = 16
"""The least number of examples a network of the pass is trained on; before it, all positions count alike."""
PAIRS, FRESH_PAIRS = 20_000, 50_000
RATE = 0.1
"""Adam's rate for the posterior mean, in units of sigma, as in the demo."""


class Sample(NamedTuple):
    """Bits (n, T) and signs (n,)."""

    bits: NDArray[np.int8]
    signs: Array64

    def take(self, rows: slice) -> Sample:
        return Sample(self.bits[rows], self.signs[rows])


def settings_of(config: Config) -> recipe.Settings:
    return replace(
        SETTINGS[config["tokens"]],
        n=config["n"],
        restarts=config["restarts"],
        match_steps=config["match_steps"],
    )


def judged(config: Config) -> list[tuple[Evidence, float]]:
    """The record of every certificate, and the true value of what it bounds for its own predictor."""
    settings, n, seed = settings_of(config), config["n"], config["seed"]
    task = sparse_majority(jax.random.key(seed), n=n, n_test=1, tokens=settings.tokens, embedded=False)
    place = recipe.coordinates(task.source, settings.tolerance)
    sample = Sample(np.asarray(task.train.inputs), 2.0 * np.asarray(task.train.labels) - 1.0)
    truth = all_signs(settings.tokens, np.asarray(task.source.index_set))
    alpha = trained(settings, place, sample, seed)
    z = recipe.round_off(settings, place, alpha, sample.bits, sample.signs)
    rounded, parts = settings.grid * z.astype(np.float64), recipe.code_length(settings, z)
    occam = Occam(errors=errors_of(place, rounded, sample), n=n, code_length=math.fsum(parts.values()), parts=parts)
    margins = sample.signs * recipe.outputs(place, alpha, sample.bits)
    margin = Margin(n=n, scales=recipe.margin_scales(settings, place, alpha, margins))
    progressive, half = _pass(settings, place, sample, truth, seed)
    return [
        *_held_out(settings, place, half, sample.take(slice(n // 2, n)), truth),
        *_pac_bayes(config, settings, place, half, sample.take(slice(n // 2, n)), truth),
        (occam, risk(place, rounded, truth)),
        (margin, risk(place, alpha, truth)),
        progressive,
    ]


def trained(settings: recipe.Settings, place: recipe.Coordinates, sample: Sample, seed: int) -> Array64:
    return recipe.match(settings, place, recipe.correlations(sample.bits, sample.signs), seed)


def errors_of(place: recipe.Coordinates, alpha: Array64, sample: Sample) -> int:
    return int(np.sum(sample.signs * recipe.outputs(place, alpha, sample.bits) <= 0))


# --- truth: all inputs ------------------------------------------------------------------------------------------------


def patterns(k: int) -> NDArray[np.int8]:
    """All sequences of k bits."""
    return _bits(np.arange(2**k), k)


def all_signs(tokens: int, index_set: NDArray[Any]) -> Array64:
    """The label, as a sign, of every input: rows for the first half of the bits, columns for the second."""
    relevant = np.isin(np.arange(tokens), index_set).astype(np.int64)
    first, second = (patterns(k) @ part for k, part in _halves(relevant))
    return np.where(2 * (first[:, None] + second) > len(index_set), 1.0, -1.0)


def all_outputs(place: recipe.Coordinates, alpha: Array64) -> Array64:
    """f on every input, in the same order: sums over positions split into those over each half."""
    scores = place.scores @ alpha.T
    mass = np.exp(scores - np.max(scores, axis=0))

    def total(table: Array64) -> Array64:
        zero, one = table[: place.tokens], table[place.tokens : 2 * place.tokens]
        (k, zero_first), (_, zero_second) = _halves(zero)
        (_, gain_first), (last, gain_second) = _halves(one - zero)
        first = patterns(k) @ gain_first + np.sum(zero_first, axis=0)
        second = patterns(last) @ gain_second + np.sum(zero_second, axis=0) + table[-1]
        return np.asarray(first[:, None] + second)

    return np.asarray(np.mean(total(mass * place.values[:, None]) / total(mass), axis=-1))


def _halves(rows: NDArray[Any]) -> tuple[tuple[int, NDArray[Any]], tuple[int, NDArray[Any]]]:
    middle = len(rows) // 2
    return (middle, rows[:middle]), (len(rows) - middle, rows[middle:])


def risk(place: recipe.Coordinates, alpha: Array64, truth: Array64) -> float:
    """The share of all inputs on which the network is wrong."""
    return float(np.mean(truth * all_outputs(place, alpha) <= 0))


# --- H, B and V -------------------------------------------------------------------------------------------------------


def prefixes(n: int) -> list[int]:
    """0, then n over powers of two from FIRST examples on to n/2: what the networks of the pass are trained on."""
    sizes = [n // 2]
    while sizes[-1] // 2 >= FIRST:
        sizes.append(sizes[-1] // 2)
    return [0, *reversed(sizes)]


def _pass(
    settings: recipe.Settings, place: recipe.Coordinates, sample: Sample, truth: Array64, seed: int
) -> tuple[tuple[Progressive, float], Array64]:
    """V with the mean risk of its networks, and the last of them."""
    sizes = prefixes(len(sample.signs))
    losses, risks = 0, 0.0
    alpha = np.zeros((settings.heads, place.dimension))
    for start, stop in zip(sizes, [*sizes[1:], len(sample.signs)], strict=True):
        if start:
            alpha = trained(settings, place, sample.take(slice(start)), seed)
        losses += errors_of(place, alpha, sample.take(slice(start, stop)))
        risks += (stop - start) * risk(place, alpha, truth)
    n = len(sample.signs)
    return (Progressive(mean_loss=losses / n, n=n, models=settings.tried), risks / n), alpha


def _held_out(
    settings: recipe.Settings, place: recipe.Coordinates, alpha: Array64, held: Sample, truth: Array64
) -> list[tuple[Evidence, float]]:
    """H with the network's risk; B with its mean smoothed cross-entropy, `sharpness` f being the logit."""
    outputs, everywhere = recipe.outputs(place, alpha, held.bits), all_outputs(place, alpha)
    smoothed, sharpness = replace(mnist.Settings(), tried=settings.tried), settings.sharpness
    wrong = int(np.sum(held.signs * outputs <= 0))
    holdout = HoldOut(errors=wrong, n=len(outputs), models=settings.tried)
    return [
        (holdout, float(np.mean(truth * everywhere <= 0))),
        (
            mnist.betting(smoothed, sharpness * outputs, held.signs),
            float(np.mean(mnist.smoothed_losses(smoothed, sharpness * everywhere, truth))),
        ),
    ]


# --- K and K1 ---------------------------------------------------------------------------------------------------------


def _pac_bayes(
    config: Config,
    settings: recipe.Settings,
    place: recipe.Coordinates,
    prior: Array64,
    held: Sample,
    truth: Array64,
) -> list[tuple[Evidence, float]]:
    """K by fresh pairs of weights and example; K1 for one draw, whose seed does not depend on the examples."""
    sigma, m = config["posterior_noise"], len(held.signs)
    mean = posterior_mean(settings, place, prior, held, sigma, config["posterior_steps"])
    weights_rng, pairs_rng, fresh_rng = np.random.default_rng([config["seed"], m]).spawn(3)
    rows = pairs_rng.integers(m, size=PAIRS)
    rate = float(np.mean(_wrong_pairs(place, mean, sigma, held.bits[rows], held.signs[rows], pairs_rng)))
    gibbs = Gibbs(
        error=rate,
        n=m,
        KL=float(np.sum((mean - prior) ** 2)) / (2 * sigma**2),
        pairs=PAIRS,
        models=settings.tried,
    )
    draw = mean + sigma * weights_rng.standard_normal(mean.shape)
    single = SingleDraw(
        errors=errors_of(place, draw, held),
        n=m,
        log_ratio=float(np.sum((draw - prior) ** 2) - np.sum((draw - mean) ** 2)) / (2 * sigma**2),
        models=settings.tried,
    )
    columns = truth.shape[1]
    index = fresh_rng.integers(truth.size, size=FRESH_PAIRS)
    bits = np.hstack([_bits(index // columns, place.tokens // 2), _bits(index % columns, (place.tokens + 1) // 2)])
    fresh = _wrong_pairs(place, mean, sigma, bits, truth.ravel()[index], fresh_rng)
    return [(gibbs, float(np.mean(fresh))), (single, risk(place, draw, truth))]


def posterior_mean(
    settings: recipe.Settings, place: recipe.Coordinates, prior: Array64, held: Sample, sigma: float, steps: int
) -> Array64:
    """Adam on the logistic loss of `sharpness` f on `held` plus KL/m, from the prior's mean."""
    signed = jnp.asarray(held.signs[:, None] * (2.0 * held.bits - 1.0), jnp.float32)
    basis = recipe.position_basis(place)
    moved = _descent(steps)(jnp.asarray(prior, jnp.float32), basis, signed, sigma, settings.sharpness)
    return prior + sigma * np.asarray(moved, dtype=np.float64)


@functools.lru_cache(maxsize=4)
def _descent(steps: int) -> Any:
    """Compiled once for each size: (prior, basis, signed bits, sigma, sharpness) -> (mean - prior)/sigma."""
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, steps))

    def objective(u: Array, prior: Array, basis: Array, signed: Array, sigma: Array, sharpness: Array) -> Array:
        outputs = signed @ recipe.position_weights(basis, prior + sigma * u)
        return jnp.mean(jax.nn.softplus(-sharpness * outputs)) + jnp.sum(u**2) / (2 * len(signed))

    def descent(*given: Array) -> Array:
        start = jnp.zeros_like(given[0])

        def step(state: Any, _: Any) -> tuple[Any, None]:
            u, memory = state
            updates, memory = optimiser.update(jax.grad(objective)(u, *given), memory)
            return (optax.apply_updates(u, updates), memory), None

        (u, _), _ = jax.lax.scan(step, (start, optimiser.init(start)), length=steps)
        return u

    return jax.jit(descent)


def _wrong_pairs(
    place: recipe.Coordinates,
    mean: Array64,
    sigma: float,
    bits: NDArray[np.int8],
    signs: Array64,
    rng: np.random.Generator,
    block: int = 10_000,
) -> NDArray[np.bool_]:
    """Whether the network with weights of its own, drawn from N(mean, sigma^2), errs on each of the examples."""
    tokens, found = place.tokens, []
    for start in range(0, len(signs), block):
        part = bits[start : start + block].astype(np.int64)
        cls = np.full((len(part), 1), 2 * tokens)
        rows = np.hstack([np.arange(tokens) + tokens * part, cls])
        alpha = mean + sigma * rng.standard_normal((len(part), *mean.shape))
        scores = np.take_along_axis(np.einsum("phr,sr->phs", alpha, place.scores), rows[:, None], axis=2)
        outputs = np.mean(np.sum(softmax(scores) * place.values[rows][:, None], axis=2), axis=1)
        found.append(signs[start : start + block] * outputs <= 0)
    return np.concatenate(found)


def _bits(index: Integers, k: int) -> NDArray[np.int8]:
    return ((index[:, None] >> np.arange(k)) & 1).astype(np.int8)
