"""Projected gradient descent at a width of 256 on 5,000 samples, and the AR(96) pair."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import torch

from benchmarks.compare import Case, Losses
from certiformer import models
from certiformer.training import Data, begin, fast, full_batch, gradient_descent, onto_omega, run

Sides = tuple[Callable[[int], Losses], Callable[[int], Losses]]


def width_step(dtype: str) -> Sides:
    """n=5000, T=16, d=8, m=256, tanh, tokens in the unit ball, radii 3, step 1.75/sqrt(4000)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 16, 8)).astype(dtype)
    x /= np.maximum(1.0, np.linalg.norm(x, axis=-1, keepdims=True))
    y = (0.3 * rng.normal(size=5000)).astype(dtype)
    model = models.build("independent_heads", jax.random.key(0), d=8, heads=256, dtype=dtype)
    return _transformer(model, x, y, dtype, rate=1.75 / 4000**0.5, radius=3.0)


def autoregressive_transformer(dtype: str) -> Sides:
    """L=96: 4,000 windows of 97 tokens in 17 dimensions, 64 heads, step 0.05, no projection."""
    x, y = _windows(dtype)
    model = models.build("independent_heads", jax.random.key(0), d=17, heads=64, dtype=dtype)
    return _transformer(model, x, y, dtype, rate=0.05, radius=None)


def autoregressive_indrnn(dtype: str) -> Sides:
    """The same windows through 64 recurrent units."""
    x, y = _windows(dtype)
    model = models.build("indrnn", jax.random.key(0), d=17, units=64, dtype=dtype)
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def outputs(c, u, w):  # type: ignore[no-untyped-def]
        hidden = torch.zeros(len(inputs), 64, dtype=inputs.dtype)
        for t in range(inputs.shape[1]):
            hidden = torch.tanh(inputs[:, t] @ w.T + u * hidden)
        return hidden @ c / 8.0

    names = ("c", "u", "w")
    plain = _plain_descent(model, names, lambda *p: ((outputs(*p) - labels) ** 2).mean(), rate=0.05, radius=None)
    return plain, _structured(fast.indrnn(), model, fast.blocks(x, y, 64), rate=0.05, radius=None)


def _windows(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    series = np.zeros(800 + 4200)
    for t in range(len(series)):
        series[t] = (0.9 * series[t - 96] if t >= 96 else 0.0) + 0.1**0.5 * rng.normal()
    series = series[800:]
    starts, time = np.arange(4000)[:, None], np.arange(97)[None, :]
    position = (starts + time)[:, :, None] * 2 * np.pi / (32 * 2.0 ** np.arange(8))
    x = np.concatenate([series[starts + time][:, :, None], np.sin(position), np.cos(position)], axis=-1)
    y = series[np.arange(4000) + 97]
    return x.astype(dtype), ((y - y.mean()) / y.std()).astype(dtype)


def _transformer(model, x, y, dtype, *, rate, radius):  # type: ignore[no-untyped-def]
    inputs, labels = torch.tensor(x), torch.tensor(y)
    heads = model.config.heads

    def loss(c, u, W):  # type: ignore[no-untyped-def]
        keys = torch.einsum("hij,nj->nhi", W, inputs[:, -1])
        attention = torch.softmax(torch.einsum("nhi,nti->nht", keys, inputs), dim=-1)
        attended = torch.einsum("nht,nti->nhi", attention, inputs)
        hidden = torch.tanh((attended * u).sum(-1))
        return ((hidden @ c / heads**0.5 - labels) ** 2).mean()

    plain = _plain_descent(model, ("c", "u", "W"), loss, rate=rate, radius=radius)
    return plain, _structured(fast.independent_heads(), model, fast.blocks(x, y, heads), rate=rate, radius=radius)


def _structured(objective, model, batch, *, rate, radius):  # type: ignore[no-untyped-def]
    optimiser = gradient_descent(rate)
    project = None if radius is None else onto_omega({"c": radius, "u": radius, "W": radius}, model.config.heads)
    step = full_batch(objective, optimiser, project=project)
    state = begin(model, optimiser, jax.random.key(0), projected=radius is not None)

    def ours(steps: int) -> Losses:
        return run(step, state, Data(batch), steps=steps, chunk=steps).metrics["loss"]

    return ours


def _plain_descent(model, names, loss_of, *, rate, radius):  # type: ignore[no-untyped-def]
    start = [torch.tensor(np.asarray(getattr(model, name))) for name in names]

    def plain(steps: int) -> Losses:
        params = [value.clone().requires_grad_() for value in start]
        losses = []
        for _ in range(steps):
            loss = loss_of(*params)
            gradients = torch.autograd.grad(loss, params)
            with torch.no_grad():
                for value, gradient, centre in zip(params, gradients, start, strict=True):
                    value.sub_(rate * gradient)
                    if radius is not None:
                        delta = (value - centre).reshape(len(centre), -1)
                        shrink = torch.clamp(radius / len(centre) ** 0.5 / delta.norm(dim=1), max=1.0)
                        value.copy_(centre + (delta * shrink[:, None]).reshape(centre.shape))
            losses.append(loss.item())
        return np.array(losses)

    return plain


CASES = [
    Case("arda_width", "projected GD step, n=5000, m=256", 3.0, width_step),
    Case("ar96_transformer", "GD step, AR(96), 64 heads", 2.8, autoregressive_transformer),
    # Float32 gradients through 97 steps at |u| = 1.5 carry about 1 % of noise: later losses may drift apart.
    Case("ar96_indrnn", "GD step, AR(96), 64 units", 5.5, autoregressive_indrnn, agreement_steps=2),
]
