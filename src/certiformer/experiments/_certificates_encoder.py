r"""The encoder of the study of certificates: how it is trained, coded and certified at any n.

The settings are those of the first release, whose every configuration is counted in `Settings.tried` and paid for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from numpy.typing import NDArray
from scipy.fft import dctn

from certiformer import training
from certiformer.calculus import quantised
from certiformer.certificates.betting import Betting
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.tasks.mnist import embedded, patches, scale
from certiformer.training.losses import logistic
from certiformer.training.subspace import Quantisation, Subspace, descend

DEVELOPMENT_SEED, DEVELOPMENT = 20261115, 2665
PATCH = 8
Weights = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class Settings:
    """Everything that was chosen. `tried` is at least the number of configurations that were ever run."""

    pixels: str = "unit"
    width: int = 64
    encoder_steps: int = 3000
    encoder_rate: float = 0.01
    shift: int = 1
    batch: int = 100
    smoothing: float = 0.01
    head_noise: float = 0.15
    head_steps: int = 400
    progressive_first: int = 16
    progressive_block: int = 250
    progressive_steps: int = 300
    progressive_rate: float = 0.01
    occam_width: int = 64
    modes: int = 10
    dimension: int = 32
    grid: float = 4.0
    spread: float = 1.5
    occam_steps: int = 9000
    occam_rate: float = 0.5
    occam_seeds: int = 2
    scales: int = 16
    tried: int = 64


class Images(NamedTuple):
    """Tokens (n, 16, 64) and signs (n,)."""

    x: NDArray[np.float32]
    y: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> Images:
        return Images(self.x[rows], self.y[rows])


def images(settings: Settings) -> tuple[Images, Images, Images]:
    """Development part, the 10,000 to certify with, and the test images."""
    train, test = embedded()

    def tokens(part: Any) -> Images:
        x = patches(scale(part.images, settings.pixels), "padded").astype(np.float32)
        return Images(x, np.where(part.digits == 1, 1.0, -1.0).astype(np.float32))

    order = np.random.default_rng(DEVELOPMENT_SEED).permutation(len(train.digits))
    everything = tokens(train)
    return everything.take(order[:DEVELOPMENT]), everything.take(np.sort(order[DEVELOPMENT:])), tokens(test)


def batched(weights: Weights, x: Float[Array, "n tokens d"]) -> Float[Array, " n"]:
    """The encoder on a batch, with W_K^T W_Q collapsed: the same numbers as the model, faster to train."""
    return features(weights, x) @ weights[3]


def features(weights: Weights, x: Float[Array, "n tokens d"]) -> Float[Array, "n width"]:
    """What w_O reads: the mean over tokens of relu(W_V a_i)."""
    query, key, value, _ = weights
    scores = jnp.einsum("nsd,de,nte->nts", x, key.T @ query / math.sqrt(key.shape[0]), x)
    return jnp.mean(jax.nn.relu(jax.nn.softmax(scores, axis=-1) @ x @ value.T), axis=1)


_features = jax.jit(features)


def weights_of(model: ShallowEncoder) -> Weights:
    return model.W_Q, model.W_K, model.W_V, model.w_O


def model_of(weights: Weights) -> ShallowEncoder:
    query, key, value, readout = (jnp.asarray(weight, jnp.float32) for weight in weights)
    return ShallowEncoder(ShallowEncoderConfig(query.shape[1], query.shape[0]), query, key, value, readout)


def scores_of(model: ShallowEncoder, x: NDArray[np.float32], block: int = 1000) -> NDArray[np.float32]:
    """The certified program itself, in float32, in blocks."""
    return np.concatenate(
        [np.asarray(_apply(model, jnp.asarray(x[start : start + block]))) for start in range(0, len(x), block)]
    )


@eqx.filter_jit
def _apply(model: ShallowEncoder, x: Float[Array, "n tokens d"]) -> Float[Array, " n"]:
    return jax.vmap(model)(x)


def errors_of(scores: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]]) -> int:
    """Wrong signs; a score of zero is wrong."""
    return int(np.sum(scores * y <= 0))


# --- training ---------------------------------------------------------------------------------------------------------


def initial_weights(settings: Settings, seed: int) -> Weights:
    return weights_of(ShallowEncoder.init(jax.random.key(seed), ShallowEncoderConfig(PATCH * PATCH, settings.width)))


def _objective(weights: Weights, batch: tuple[Array, Array]) -> tuple[Array, dict[str, Array]]:
    return jnp.mean(logistic(batched(weights, batch[0]), batch[1])), {}


def shifted(x: Float[Array, "n tokens d"], shift: Array) -> Float[Array, "n tokens d"]:
    """The images moved by `shift` pixels down and right; what leaves is blank border and comes back as such."""
    side = math.isqrt(x.shape[1])
    grid = x.reshape(-1, side, side, PATCH, PATCH).transpose(0, 1, 3, 2, 4).reshape(-1, side * PATCH, side * PATCH)
    moved = jnp.roll(grid, shift, axis=(1, 2)).reshape(-1, side, PATCH, side, PATCH)
    return moved.transpose(0, 1, 3, 2, 4).reshape(x.shape)


@functools.lru_cache(maxsize=8)
def _augmented_step(
    batch_size: int, most: int, rate: float, steps: int | None
) -> tuple[optax.GradientTransformation, training.Step]:
    """Adam on a batch drawn among the first `data.shared` images, all moved by the same few pixels, at most `most`.

    The rate falls by a cosine over `steps`, if given. Compiled once for each size of the data.
    """
    optimiser = training.adam(rate if steps is None else optax.cosine_decay_schedule(rate, steps))

    def step(state: training.State, index: Array, data: training.Data) -> tuple[training.State, dict[str, Array]]:
        rows_key, shift_key = jax.random.split(jax.random.fold_in(jax.random.wrap_key_data(state.key), index))
        rows = jax.random.randint(rows_key, (batch_size,), 0, data.shared)
        shift = jax.random.randint(shift_key, (2,), -most, most + 1)
        batch = (shifted(data.train[0][rows], shift), data.train[1][rows])
        (loss, _), gradient = jax.value_and_grad(_objective, has_aux=True)(state.params, batch)
        updates, memory = optimiser.update(gradient, state.opt_state)
        return state._replace(params=optax.apply_updates(state.params, updates), opt_state=memory), {"loss": loss}

    return optimiser, step


def train_encoder(settings: Settings, part: Images, seed: int, progress: bool | None = None) -> ShallowEncoder:
    """Adam with a cosine, from LeCun's initialisation."""
    optimiser, step = _augmented_step(settings.batch, settings.shift, settings.encoder_rate, settings.encoder_steps)
    state = training.begin(initial_weights(settings, seed), optimiser, jax.random.key(seed + 1))
    data = training.Data((jnp.asarray(part.x), jnp.asarray(part.y)), shared=jnp.asarray(len(part.y)))
    done = training.run(step, state, data, steps=settings.encoder_steps, progress=progress, label="encoder")
    return model_of(done.state.params)


def head_posterior(settings: Settings, model: ShallowEncoder, part: Images) -> tuple[NDArray[np.float64], float]:
    """(posterior mean of w_O, sigma): logistic loss on `part` plus KL/m, on frozen features; prior mean is w_O."""
    h = jnp.asarray(_features_of(model, part.x))
    y, prior = jnp.asarray(part.y), model.w_O
    sigma = settings.head_noise * float(jnp.linalg.norm(prior)) / math.sqrt(settings.width)

    def objective(w: Array, batch: Any) -> tuple[Array, dict[str, Array]]:
        divergence = jnp.sum((w - prior) ** 2) / (2 * sigma**2)
        return jnp.mean(logistic(h @ w, y)) + divergence / len(y), {}

    optimiser = training.adam(optax.cosine_decay_schedule(0.1 * sigma, settings.head_steps))
    state = training.begin(prior, optimiser, jax.random.key(0))
    step = training.full_batch(objective, optimiser)
    done = training.run(step, state, training.Data(()), steps=settings.head_steps, progress=False)
    return np.asarray(done.state.params, dtype=np.float64), sigma


def _features_of(model: ShallowEncoder, x: NDArray[np.float32], block: int = 1000) -> NDArray[np.float32]:
    weights = weights_of(model)
    return np.concatenate(
        [np.asarray(_features(weights, x[start : start + block])) for start in range(0, len(x), block)]
    )


def progressive_pass(
    settings: Settings,
    part: Images,
    seed: int,
    progress: bool | None = None,
    watch: Callable[[ShallowEncoder, int], None] | None = None,
) -> NDArray[np.int64]:
    """0-1 losses in the order of the pass: predict a block, then learn from everything seen; blocks double at first.

    `watch` is shown every iterate and the number of images it predicted.
    """
    order = np.random.default_rng(seed).permutation(len(part.y))
    x, y = jnp.asarray(part.x[order]), jnp.asarray(part.y[order])
    optimiser, step = _augmented_step(settings.batch, settings.shift, settings.progressive_rate, None)
    state = training.begin(initial_weights(settings, seed), optimiser, jax.random.key(seed + 1))
    losses: list[NDArray[np.int64]] = []
    start = 0
    while start < len(y):
        stop = min(len(y), start + max(settings.progressive_first, min(start, settings.progressive_block)))
        iterate = model_of(state.params)
        if watch is not None:
            watch(iterate, stop - start)
        scores = scores_of(iterate, np.asarray(x[start:stop]))
        losses.append((scores * np.asarray(y[start:stop]) <= 0).astype(np.int64))
        data = training.Data((x, y), shared=jnp.asarray(stop))
        steps = settings.progressive_steps
        state = training.run(step, state, data, steps=steps, chunk=steps, progress=False).state
        state = state._replace(key=jax.random.key_data(jax.random.key(seed + 2 + stop)))
        start = stop
    return np.concatenate(losses)


# --- the Occam predictor: theta_0(seed) + M z -------------------------------------------------------------------------


def cosine_modes(count: int) -> NDArray[np.float64]:
    """The `count` lowest two-dimensional cosine modes of a patch, orthonormal rows (count, 64)."""
    order = sorted((i + j, max(i, j), i, j) for i in range(PATCH) for j in range(PATCH))[:count]
    basis = dctn(np.eye(PATCH * PATCH).reshape(-1, PATCH, PATCH), axes=(1, 2), norm="ortho")
    return np.stack([basis[:, i, j] for _, _, i, j in order])


def subspace(settings: Settings, seed: int) -> Subspace:
    """theta_0 and M from a seed: Gaussian, of the scale of the initialisation, W_* confined to the low modes."""
    rng = np.random.default_rng(seed)
    modes = cosine_modes(settings.modes)
    stretch = settings.spread / math.sqrt(settings.dimension)

    def matrix() -> tuple[Array, Array]:
        start = rng.standard_normal((settings.occam_width, settings.modes)) / PATCH @ modes
        directions = rng.standard_normal((settings.occam_width, settings.modes, settings.dimension)) / PATCH * stretch
        return jnp.asarray(start, jnp.float32), jnp.asarray(np.einsum("wmk,md->wdk", directions, modes), jnp.float32)

    matrices = [matrix() for _ in range(3)]
    readout = rng.standard_normal(settings.occam_width) / math.sqrt(settings.occam_width)
    slopes = rng.standard_normal((settings.occam_width, settings.dimension)) / math.sqrt(settings.occam_width) * stretch
    origin = (*(start for start, _ in matrices), jnp.asarray(readout, jnp.float32))
    basis = (*(directions for _, directions in matrices), jnp.asarray(slopes, jnp.float32))
    return Subspace(origin, basis)


def decode(settings: Settings, seed: int, z: NDArray[np.int64]) -> ShallowEncoder:
    """The predictor that the integers name."""
    return model_of(subspace(settings, seed).at(jnp.asarray(settings.grid * z, jnp.float32)))


def occam_codeword(settings: Settings, part: Images, seed: int, progress: bool | None = None) -> NDArray[np.int64]:
    """Subspace descent on all of `part`, in the coordinates of the low modes (nothing else is ever read)."""
    modes = jnp.asarray(cosine_modes(settings.modes), jnp.float32)
    full = subspace(settings, seed)
    small = Subspace(
        (*(start @ modes.T for start in full.origin[:3]), full.origin[3]),
        (*(jnp.einsum("wdk,md->wmk", directions, modes) for directions in full.basis[:3]), full.basis[3]),
    )
    quantisation = Quantisation(
        step=settings.grid,
        steps=settings.occam_steps,
        learning_rate=settings.occam_rate,
        examples=len(part.y),
        batch=settings.batch,
    )
    x = jnp.asarray(part.x) @ modes.T
    return descend(
        batched, logistic, small, x, jnp.asarray(part.y), jax.random.key(seed), quantisation, progress=progress
    )


def code_length(settings: Settings, z: NDArray[np.int64]) -> dict[str, float]:
    """-ln P(h) in nats, item by item; the prior is fixed by the settings."""
    scales = [2.0 ** (i / 2) for i in range(-2, settings.scales - 2)]
    nats, _ = quantised.best_scale(z, settings.grid, scales)
    return {
        "coordinates and their scale": nats,
        "dimension": quantised.dimension_nats(settings.dimension),
        "seeds and configurations tried": math.log(settings.tried * settings.occam_seeds),
    }


def occam_limit(settings: Settings, part: Images, seed: int, z: NDArray[np.int64]) -> float:
    """What the choice among seeds goes by: the certificate at a fixed level."""
    from certiformer.calculus.tails import binomial_upper

    errors = errors_of(scores_of(decode(settings, seed, z), part.x), part.y)
    return binomial_upper(errors, len(part.y), math.log(0.01) - sum(code_length(settings, z).values()))


def smoothed_losses(
    settings: Settings, scores: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """-ln((1 - a) p + a/2), p the probability of the label by the logistic of the score."""
    a = settings.smoothing
    correct = 1.0 / (1.0 + np.exp(-np.clip(scores * y, -500, 500).astype(np.float64)))
    return np.asarray(-np.log((1 - a) * correct + a / 2))


def betting(settings: Settings, scores: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]]) -> Betting:
    """Smoothed cross-entropies in an order that does not depend on the file."""
    a, losses = settings.smoothing, smoothed_losses(settings, scores, y)
    losses = losses[np.random.default_rng(DEVELOPMENT_SEED).permutation(len(losses))]  # exchangeable, whatever the file
    return Betting(
        losses=tuple(losses.tolist()),
        low=-math.log1p(-a / 2),
        high=math.log(2 / a),
        smoothing=a,
        classes=2,
        subject="the encoder with smoothed probabilities",
        models=settings.tried,
    )


def pac_bayes(
    settings: Settings, encoder: ShallowEncoder, posterior: tuple[NDArray[np.float64], float], part: Images, seed: int
) -> tuple[Gibbs, SingleDraw]:
    """The posterior's error on `part`, exactly, and the errors of the network that the seed draws from it."""
    h = _features_of(encoder, part.x).astype(np.float64)
    prior = np.asarray(encoder.w_O, dtype=np.float64)
    mean, sigma = posterior
    divergence = float(np.sum((mean - prior) ** 2)) / (2 * sigma**2)
    # <w, h> is Gaussian with mean <mean, h> and deviation sigma ||h||: the error of Q has a closed form.
    # Features that are all zero score zero whatever the readout, and a zero score is an error.
    deviations = sigma * np.linalg.norm(h, axis=1)
    scaled = part.y * (h @ mean) / np.where(deviations > 0, deviations, 1.0)
    error = float(
        np.mean([0.5 * math.erfc(v / math.sqrt(2)) if d > 0 else 1.0 for v, d in zip(scaled, deviations, strict=True)])
    )
    draw_seed = seed + 1000
    draw = mean + sigma * np.random.default_rng(draw_seed).standard_normal(len(mean))
    ratio = float(np.sum((draw - prior) ** 2) - np.sum((draw - mean) ** 2)) / (2 * sigma**2)
    network = model_of((*weights_of(encoder)[:3], jnp.asarray(draw, jnp.float32)))
    drawn = SingleDraw(
        errors=errors_of(scores_of(network, part.x), part.y),
        n=len(part.y),
        log_ratio=ratio,
        seed=draw_seed,
        subject="the encoder with a readout drawn once from the posterior",
        models=settings.tried,
    )
    gibbs = Gibbs(
        error=error,
        n=len(part.y),
        KL=divergence,
        subject="the encoder with a random readout",
        models=settings.tried,
    )
    return gibbs, drawn
