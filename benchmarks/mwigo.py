"""An epoch of Table 1 at a width of 1,024: 1,200 images in batches of 32, then the loss on all 2,115 test images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.compare import Case, Losses, Side
from certiformer.lab.tasks.mnist import mnist
from certiformer.reproduction.papers import _mwigo_runs as runs
from certiformer.reproduction.papers._mwigo_grid import BASE

WIDTH, SAMPLES, BATCH, TEST = 1024, 1200, 32, 2115
CONFIG = {"d_m": WIDTH, "n": SAMPLES, **BASE, "rate": 0.1, "seed": 0}
NAMES = ("W_Q", "W_K", "W_V", "w_O")


def make(authors: str | None) -> dict[str, Side]:
    import jax

    images, weights = runs._prepared(CONFIG)
    steps_of, test = runs._epochs(images, CONFIG), runs._test_images(CONFIG["pixels"], CONFIG["tokens"])
    task = mnist(jax.random.split(jax.random.key(0))[0], n=SAMPLES, pixels=CONFIG["pixels"], tokens=CONFIG["tokens"])

    def ours(steps: int) -> Losses:
        now, shuffled = {name: value.copy() for name, value in weights.items()}, np.random.default_rng(0)
        pairs = ((steps_of.epoch(now, shuffled.permutation(SAMPLES)), steps_of.loss(now, test)) for _ in range(steps))
        return np.array(list(pairs))

    return {
        "plain": _torch(task, weights, _plain_outputs),
        "algebra": _torch(task, weights, _collapsed_outputs),
        "ours": ours,
    }


def _torch(task: Any, weights: Any, outputs: Any) -> Side:
    (x, y), (x_test, y_test) = (
        (torch.tensor(np.asarray(part.inputs)), torch.tensor(np.asarray(part.labels)))
        for part in (task.train, task.test)
    )

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.softplus(-y * outputs(x, *params)).mean()

    def side(steps: int) -> Losses:
        params = [torch.tensor(weights[name]).requires_grad_() for name in NAMES]
        shuffled, found = np.random.default_rng(0), []
        for _ in range(steps):
            running = 0.0
            for chosen in torch.tensor(shuffled.permutation(SAMPLES)).split(BATCH):
                loss = loss_of(params, x[chosen], y[chosen])
                running += loss.item() * len(chosen)
                with torch.no_grad():
                    for value, gradient in zip(params, torch.autograd.grad(loss, params), strict=True):
                        value.sub_(0.1 * gradient)
            with torch.no_grad():
                parts = zip(x_test.split(256), y_test.split(256), strict=True)
                total = sum(loss_of(params, a, b).item() * len(a) for a, b in parts)
            found.append((running / SAMPLES, total / TEST))
        return np.array(found)

    return side


def _plain_outputs(x: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any) -> Any:
    scores = (x @ W_Q.T) @ (x @ W_K.T).transpose(1, 2) / WIDTH**0.5
    attended = torch.softmax(scores, dim=-1) @ (x @ W_V.T)
    return torch.relu(attended).mean(1) @ w_O


def _collapsed_outputs(x: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any) -> Any:
    """Our algebra without the merging of equal patches: W_Q^T W_K is d x d, and tokens are averaged before W_V."""
    scores = (x @ (W_Q.T @ W_K / WIDTH**0.5)) @ x.transpose(1, 2)
    return torch.relu((torch.softmax(scores, dim=-1) @ x) @ W_V.T).mean(1) @ w_O


ROWS = 9.3  # distinct patches of an image, on average
OPERATIONS = 2.0 * 64 * WIDTH * (ROWS * (3 * SAMPLES + TEST) + 38 * 3 * 64)
CASES = [
    Case("mwigo", "epoch of 38 batches with its test pass", 5.5, "float32", OPERATIONS, make, steps=3, agreement=2)
]
