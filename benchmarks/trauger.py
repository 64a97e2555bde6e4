"""One epoch of sparse majority: 300 samples in batches of 128, 128, 44, then validation on 10,000."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import torch

from benchmarks.compare import Case, Losses
from certiformer import models
from certiformer.tasks.sparse_majority import SparseMajority
from certiformer.training import Data, begin, epochs, fast, momentum_sgd, run, trauger_schedule

BATCH, TRAIN, VALIDATION = 128, 300, 10_000


def make(tokens: int) -> Callable[[str], tuple[Callable[[int], Losses], Callable[[int], Losses]]]:
    def sides(dtype: str) -> tuple[Callable[[int], Losses], Callable[[int], Losses]]:
        keys = jax.random.split(jax.random.key(0), 4)
        source = SparseMajority.draw(keys[0], tokens=tokens, dtype=dtype)
        model = models.build("keras_cls_transformer", keys[1], dtype=dtype)
        # Well away from the start: a random model has a loss near log 2 whatever it computes.
        model = jax.tree.map(lambda leaf: 1.5 * leaf, model)
        bits, held_out = source.sample_bits(keys[2], TRAIN), source.sample_bits(keys[3], VALIDATION)
        return (
            _plain(source, model, bits, held_out, dtype),
            _structured(source, model, bits, held_out, dtype),
        )

    return sides


def _structured(source, model, bits, held_out, dtype):  # type: ignore[no-untyped-def]
    optimiser = momentum_sgd(trauger_schedule(3))
    objective = fast.token_table()
    step = epochs(objective, optimiser, batch=BATCH, validation=objective)
    data = Data(
        (bits.astype(dtype), source.labels(bits)), (held_out.astype(dtype), source.labels(held_out)), source.table
    )
    state = begin(model, optimiser, jax.random.key(9))

    def ours(steps: int) -> Losses:
        metrics = run(step, state, data, steps=steps, chunk=steps).metrics
        return np.stack([metrics["loss"], metrics["validation_loss"]])

    return ours


def _plain(source, model, bits, held_out, dtype):  # type: ignore[no-untyped-def]
    """Keras' computation in PyTorch: attention at every position, the last one read."""
    kind = getattr(torch, dtype)
    start = {name: torch.tensor(np.asarray(value)) for name, value in models.weights(model).items()}
    x, x_val = (torch.tensor(np.asarray(source.embed(part))) for part in (bits, held_out))
    y, y_val = (
        torch.nn.functional.one_hot(torch.tensor(np.asarray(source.labels(part))).long(), 2).to(kind)
        for part in (bits, held_out)
    )
    key_size = model.config.key_size

    def outputs(p, x):  # type: ignore[no-untyped-def]
        query = torch.einsum("nti,ihk->nhtk", x, p["W_Q"]) + p["b_Q"][:, None]
        keys = torch.einsum("nti,ihk->nhtk", x, p["W_K"]) + p["b_K"][:, None]
        values = torch.einsum("nti,ihk->nhtk", x, p["W_V"]) + p["b_V"][:, None]
        attention = torch.softmax(query / key_size**0.5 @ keys.transpose(-1, -2), dim=-1)
        mixed = torch.einsum("nhtk,hki->nti", attention @ values, p["W_O"]) + p["b_O"]
        hidden = torch.relu(mixed) @ p["W_1"] + p["b_1"]
        return hidden[:, -1] @ p["W_2"] + p["b_2"]

    def loss_of(p, x, y):  # type: ignore[no-untyped-def]
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs(p, x), y)

    def plain(steps: int) -> Losses:
        params = {name: value.clone().requires_grad_() for name, value in start.items()}
        velocity = {name: torch.zeros_like(value) for name, value in start.items()}
        losses = []
        for epoch in range(steps):
            key = jax.random.fold_in(jax.random.wrap_key_data(jax.random.key_data(jax.random.key(9))), epoch)
            order = torch.tensor(np.asarray(jax.random.permutation(key, TRAIN))).long()
            rate = max(0.001, 0.01 * 0.999 ** (epoch + 1))
            running = 0.0
            for first in range(0, TRAIN, BATCH):
                chosen = order[first : first + BATCH]
                loss = loss_of(params, x[chosen], y[chosen])
                running += loss.item() * len(chosen)
                gradients = torch.autograd.grad(loss, list(params.values()))
                with torch.no_grad():
                    for (name, value), gradient in zip(params.items(), gradients, strict=True):
                        velocity[name].mul_(0.9).sub_(rate * gradient)
                        value.add_(velocity[name])
            with torch.no_grad():
                total = sum(
                    loss_of(params, x_val[i : i + BATCH], y_val[i : i + BATCH]).item() * len(x_val[i : i + BATCH])
                    for i in range(0, VALIDATION, BATCH)
                )
            losses.append((running / TRAIN, total / VALIDATION))
        return np.array(losses).T

    return plain


CASES = [
    Case(
        f"trauger_T{tokens}",
        f"epoch with validation on 10,000, T={tokens}",
        target,
        make(tokens),
        steps=40 if tokens < 100 else 20,
        plain_steps=1,
        agreement_steps=2,
    )
    for tokens, target in ((20, 50.0), (60, 150.0), (200, 500.0))
]
