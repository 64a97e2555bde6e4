"""A full-batch step of the shallow encoder on 1,200 MNIST digits 0 and 1 at a width of 1,024."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import torch

from benchmarks.compare import Case, Losses
from certiformer import models, tasks
from certiformer.training import Data, begin, fast, full_batch, gradient_descent, run


def make(dtype: str) -> tuple[Callable[[int], Losses], Callable[[int], Losses]]:
    train = tasks.build("mnist", jax.random.key(1), n=1200, dtype=dtype).train
    x, y = np.asarray(train.inputs), np.asarray(train.labels)
    model = models.build("shallow_encoder", jax.random.key(0), d=64, d_m=1024, dtype=dtype)
    optimiser = gradient_descent(0.1)
    step = full_batch(fast.merged_patches(), optimiser)
    state, batch = begin(model, optimiser, jax.random.key(0)), fast.merge_patches(x, y)
    inputs, labels = torch.tensor(x), torch.tensor(y)
    names = ("W_Q", "W_K", "W_V", "w_O")

    def ours(steps: int) -> Losses:
        return run(step, state, Data(batch), steps=steps, chunk=steps).metrics["loss"]

    def plain(steps: int) -> Losses:
        W_Q, W_K, W_V, w_O = params = [torch.tensor(np.asarray(getattr(model, n))).requires_grad_() for n in names]
        losses = []
        for _ in range(steps):
            scores = (inputs @ W_Q.T) @ (inputs @ W_K.T).transpose(1, 2) / 32.0
            attended = torch.softmax(scores, dim=-1) @ (inputs @ W_V.T)
            outputs = torch.relu(attended).mean(1) @ w_O
            loss = torch.nn.functional.softplus(-labels * outputs).mean()
            with torch.no_grad():
                for value, gradient in zip(params, torch.autograd.grad(loss, params), strict=True):
                    value.sub_(0.1 * gradient)
            losses.append(loss.item())
        return np.array(losses)

    return plain, ours


CASES = [Case("mwigo", "full-batch GD step, N=1200, d_m=1024", 6.0, make)]
