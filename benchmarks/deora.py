"""One gradient step of 100 leave-one-out models at once: n=100, T=8, d=12, 4 heads; the tokenized mixture."""

from __future__ import annotations

import jax
import numpy as np
import torch

from benchmarks.compare import Case, Losses, Side
from certiformer.lab.training import kernels
from certiformer.reproduction.designs import _deora_runs as runs
from certiformer.reproduction.designs.deora_training import MIXTURE

SAMPLES, RATE = 100, 0.1
TOKENS, DIMENSION, HEADS = MIXTURE["tokens"], MIXTURE["d"], 4


def make(authors: str | None) -> dict[str, Side]:
    config = {**MIXTURE, "n": SAMPLES, "n_test": 1, "n1": 1, "heads": HEADS, "start": "zero", "seed": 1}
    with jax.enable_x64(True):
        problem = runs.draw(config)
    x, y = np.array(problem.x), np.array(problem.y)
    rng = np.random.default_rng(1)
    parts = [0.3 * rng.standard_normal((HEADS, rows, DIMENSION)) for rows in (TOKENS, DIMENSION)]
    start = [np.repeat(part[None], SAMPLES + 1, axis=0) for part in parts]
    shares = kernels.leave_one_out_weights(SAMPLES)
    inputs, labels, table = torch.tensor(x), torch.tensor(y), torch.tensor(shares)

    def ours(steps: int) -> Losses:
        settings = {"factor": np.full(HEADS, HEADS**-0.5), "rate": np.full(HEADS, RATE), "steps": steps}
        return kernels.attention_runs(*start, (x, y), shares, **settings).losses

    def plain(steps: int) -> Losses:
        U, W = params = [torch.tensor(part).requires_grad_() for part in start]
        losses = []
        for _ in range(steps):
            keys = torch.einsum("nti,rhij->rnhtj", inputs, W)
            attention = torch.softmax(torch.einsum("rnhtj,nsj->rnhts", keys, inputs), dim=-1)
            attended = torch.einsum("rnhts,nsd->rnhtd", attention, inputs)
            outputs = torch.einsum("rnhtd,rhtd->rn", attended, U) * HEADS**-0.5
            each = (table * torch.nn.functional.softplus(-labels * outputs)).sum(1)
            gradients_now = torch.autograd.grad(each.sum(), params)
            with torch.no_grad():
                for value, gradient in zip(params, gradients_now, strict=True):
                    value.sub_(RATE * gradient)
            losses.append(each.detach().numpy().copy())
        return np.array(losses)

    def by_hand(steps: int) -> Losses:
        U, W = (torch.tensor(part) for part in start)
        losses = np.empty((steps, SAMPLES + 1))
        for step in range(steps):
            for first in range(0, SAMPLES + 1, TOGETHER):
                block = slice(first, first + TOGETHER)
                each, d_U, d_W = _gradient(U[block], W[block], inputs, labels, table[block])
                losses[step, block] = each
                U[block] -= RATE * d_U
                W[block] -= RATE * d_W
        return losses

    return {"plain": plain, "algebra": by_hand, "ours": ours}


TOGETHER = 4
"""Models whose arrays stay in the cache."""


def _gradient(U, W, x, y, shares):  # type: ignore[no-untyped-def]
    """An expert's step: with P = softmax(X W X^T) and S = U X^T, outputs are sums of P * S; the gradient by hand."""
    runs, samples = len(U), len(x)
    flat, turned = x.reshape(-1, DIMENSION), x.transpose(1, 2)
    keys = (flat @ W).view(runs, HEADS, samples, TOKENS, DIMENSION)
    P = torch.softmax(keys @ turned, dim=-1)
    S = U[:, :, None] @ turned
    rows = (P * S).sum(-1, keepdim=True)
    outputs = rows.sum((1, 3, 4)) * HEADS**-0.5
    each = (shares * torch.nn.functional.softplus(-y * outputs)).sum(1)
    pull = -shares * y * torch.sigmoid(-y * outputs) * HEADS**-0.5
    weighted = P * pull[:, None, :, None, None]
    d_U = weighted.transpose(2, 3).reshape(runs, HEADS, TOKENS, -1) @ flat
    moved = (weighted * (S - rows)) @ x
    d_W = flat.T @ moved.view(runs, HEADS, -1, DIMENSION)
    return each, d_U, d_W


OPERATIONS = (SAMPLES + 1) * SAMPLES * HEADS * TOKENS * DIMENSION * (2.0 * 2 * DIMENSION + 4 * 2 * TOKENS) + (
    SAMPLES + 1
) * SAMPLES * HEADS * TOKENS**2 * 30.0
CASES = [Case("deora", "step of 101 leave-one-out models", 8.0, "float64", OPERATIONS, make, steps=20)]
