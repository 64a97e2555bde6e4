"""One epoch of sparse majority: 300 samples in batches of 128, 128, 44, then validation on 10,000."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.compare import Case, Losses, Side
from certiformer.lab import models
from certiformer.lab.training import kernels
from certiformer.reproduction.papers import _trauger_runs as runs

CONFIG = {
    "seed": 0,
    "samples": 300,
    "validation": 10_000,
    "relevant": 9,
    "d": 64,
    "heads": 2,
    "batch": 128,
    "rate": 0.01,
}


def make(tokens: int) -> Callable[[str | None], dict[str, Side]]:
    def sides(authors: str | None) -> dict[str, Side]:
        config = CONFIG | {"tokens": tokens}
        problem = runs._problem(config)
        # Well away from the start: a random model has a loss near log 2 whatever it computes.
        weights = np.float32(1.5) * kernels.flatten(problem.model)
        descent = runs._descent(problem, config)

        def ours(steps: int) -> Losses:
            now, velocity = weights.copy(), np.zeros_like(weights)
            orders, rates = runs._orders(problem.key, 0, steps, 300), runs._rates(config, 0, steps)
            found = []
            for k in range(steps):
                losses, _ = descent.epochs(now, velocity, orders[k : k + 1], rates[k : k + 1])
                found.append((losses[0], descent.validate(now)[0]))
            return np.array(found)

        model = kernels.unflatten(weights, problem.model.config)
        return {
            "plain": _torch(problem, model, config, _plain_outputs),
            "algebra": _torch(problem, model, config, _table_outputs),
            "ours": ours,
        }

    return sides


def _torch(problem, model, config, outputs) -> Side:  # type: ignore[no-untyped-def]
    """Momentum descent and validation in batches, on embedded sequences or on bits."""
    start = {name: torch.tensor(np.asarray(value)) for name, value in models.weights(model).items()}
    table = torch.tensor(np.asarray(problem.data.shared))
    parts = []
    for bits, labels in (problem.data.train, problem.data.validation):
        bits = torch.tensor(np.asarray(bits))
        parts.append((_embed(bits, table) if outputs is _plain_outputs else bits, _one_hot(labels)))
    (x, y), (x_val, y_val) = parts
    looks = 128 if outputs is _plain_outputs else len(x_val)

    def loss_of(p, x, y):  # type: ignore[no-untyped-def]
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs(p, x, table), y)

    def side(steps: int) -> Losses:
        params = {name: value.clone().requires_grad_() for name, value in start.items()}
        velocity = {name: torch.zeros_like(value) for name, value in start.items()}
        orders, rates = runs._orders(problem.key, 0, steps, 300), runs._rates(config, 0, steps)
        losses = []
        for order, rate in zip(torch.tensor(orders), rates, strict=True):
            running = 0.0
            for chosen in order.split(128):
                loss = loss_of(params, x[chosen], y[chosen])
                running += loss.item() * len(chosen)
                gradients = torch.autograd.grad(loss, list(params.values()), allow_unused=True)
                with torch.no_grad():
                    for (name, value), gradient in zip(params.items(), gradients, strict=True):
                        if gradient is not None:
                            velocity[name].mul_(0.9).sub_(float(rate) * gradient)
                            value.add_(velocity[name])
            with torch.no_grad():
                both = zip(x_val.split(looks), y_val.split(looks), strict=True)
                total = sum(loss_of(params, a, b).item() * len(a) for a, b in both)
            losses.append((running / len(x), total / len(x_val)))
        return np.array(losses)

    return side


def _embed(bits, table):  # type: ignore[no-untyped-def]
    tokens = bits.shape[1]
    rows = torch.arange(tokens) + tokens * bits.long()
    return torch.cat([table[rows], table[-1].expand(len(bits), 1, -1)], dim=1)


def _one_hot(labels):  # type: ignore[no-untyped-def]
    return torch.nn.functional.one_hot(torch.tensor(np.asarray(labels)).long(), 2).float()


def _plain_outputs(p, x, table):  # type: ignore[no-untyped-def]
    """Keras' computation: attention at every position, the last one read."""
    query = torch.einsum("nti,ihk->nhtk", x, p["W_Q"]) + p["b_Q"][:, None]
    keys = torch.einsum("nti,ihk->nhtk", x, p["W_K"]) + p["b_K"][:, None]
    values = torch.einsum("nti,ihk->nhtk", x, p["W_V"]) + p["b_V"][:, None]
    attention = torch.softmax(query / 8.0 @ keys.transpose(-1, -2), dim=-1)
    mixed = torch.einsum("nhtk,hki->nti", attention @ values, p["W_O"]) + p["b_O"]
    hidden = torch.relu(mixed) @ p["W_1"] + p["b_1"]
    return hidden[:, -1] @ p["W_2"] + p["b_2"]


def _table_outputs(p, bits, table):  # type: ignore[no-untyped-def]
    """Our algebra: the CLS row only, from the table of the 2T + 1 tokens."""
    tokens = bits.shape[1]
    query = (torch.einsum("i,ihk->hk", table[-1], p["W_Q"]) + p["b_Q"]) / 8.0
    scores = table @ torch.einsum("ihk,hk->ih", p["W_K"], query)
    values = torch.einsum("ri,ihj->rhj", table, torch.einsum("ihk,hkj->ihj", p["W_V"], p["W_O"]))
    mass = torch.exp(scores - scores.max(dim=0).values.detach())
    columns = torch.cat([(mass[:, :, None] * values).reshape(len(table), 128), mass], dim=1)
    sums = columns[:tokens].sum(0) + columns[-1] + bits @ (columns[tokens:-1] - columns[:tokens])
    attended = sums[:, :64] / sums[:, 128:129] + sums[:, 64:128] / sums[:, 129:]
    hidden = torch.relu(attended + torch.einsum("hk,hkj->j", p["b_V"], p["W_O"]) + p["b_O"])
    return hidden @ (p["W_1"] @ p["W_2"]) + (p["b_1"] @ p["W_2"] + p["b_2"])


def _operations(tokens: int) -> float:
    """Of an epoch: sums looked up for validation and their tables (one addition per entry and group of six bits), both
    passes over the batches, and the tables of tokens with their gradients.
    """
    looked_up = 130.0 * math.ceil(tokens / 6) * (10_000 + 2**6)
    return looked_up + 2.0 * 130 * tokens * 2 * 300 + 3 * (3 * 2 * 128 * 64 * (2 * tokens + 1) + 6 * 2 * 2 * 64**3)


CASES = [
    Case(
        f"trauger_T{tokens}",
        f"epoch with validation on 10,000, T = {tokens}",
        target,
        "float32",
        _operations(tokens),
        make(tokens),
        steps=40 if tokens < 100 else 20,
        agreement=2,
    )
    for tokens, target in ((20, 220.0), (60, 600.0), (200, 1300.0))
]
