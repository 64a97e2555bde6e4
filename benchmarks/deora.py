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
    config = {**MIXTURE, "n": SAMPLES, "n_test": 1, "n1": 1, "heads": HEADS, "start": "random", "seed": 1}
    with jax.enable_x64(True):
        problem = runs.draw(config)
    x, y = np.array(problem.x), np.array(problem.y)
    start = [
        np.repeat(np.array(part, dtype=np.float64)[None], SAMPLES + 1, axis=0)
        for part in (problem.heads.U, problem.heads.W)
    ]
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

    return {"plain": plain, "ours": ours}


OPERATIONS = (SAMPLES + 1) * SAMPLES * HEADS * TOKENS * DIMENSION * (2.0 * 2 * DIMENSION + 4 * 2 * TOKENS) + (
    SAMPLES + 1
) * SAMPLES * HEADS * TOKENS**2 * 30.0
CASES = [Case("deora", "step of 101 leave-one-out models", 8.0, "float64", OPERATIONS, make, steps=20)]
