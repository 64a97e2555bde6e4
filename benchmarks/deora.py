"""One gradient step of 100 leave-one-out models at once: n=100, T=8, d=12, 4 heads."""

from __future__ import annotations

import jax
import numpy as np
import torch

from benchmarks.compare import Case, Losses, Side
from certiformer import models
from certiformer.training import fast, leave_one_out

SAMPLES, RATE = 100, 0.1
TOKENS, DIMENSION, HEADS = 8, 12, 4


def make(authors: str | None) -> dict[str, Side]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLES, TOKENS, DIMENSION)).astype(np.float32)
    y = np.sign(rng.normal(size=SAMPLES)).astype(np.float32)
    settings = {"d": DIMENSION, "tokens": TOKENS, "heads": HEADS, "start": "random"}
    model = models.build("multi_head_attention", jax.random.key(0), **settings)
    gradients = fast.many_attentions()
    inputs, labels = torch.tensor(x), torch.tensor(y)
    table = torch.tensor(np.concatenate([np.ones((1, SAMPLES)), 1 - np.eye(SAMPLES)]).astype(np.float32) / SAMPLES)

    def ours(steps: int) -> Losses:
        return leave_one_out(gradients, model, (x, y), rate=RATE, steps=steps, chunk=steps).record.metrics["losses"]

    def plain(steps: int) -> Losses:
        U, W = params = [
            torch.tensor(np.broadcast_to(np.asarray(part), (SAMPLES + 1, *part.shape)).copy()).requires_grad_()
            for part in (model.U, model.W)
        ]
        losses = []
        for _ in range(steps):
            keys = torch.einsum("nti,rhij->rnhtj", inputs, W)
            attention = torch.softmax(torch.einsum("rnhtj,nsj->rnhts", keys, inputs), dim=-1)
            attended = torch.einsum("rnhts,nsd->rnhtd", attention, inputs)
            outputs = torch.einsum("rnhtd,rhtd->rn", attended, U) / 2.0
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
CASES = [Case("deora", "step of 101 leave-one-out models", 8.0, "float32", OPERATIONS, make, steps=20)]
