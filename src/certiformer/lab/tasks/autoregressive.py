"""Windows of a long-memory series: the comparison of Transformer and recurrent network of Arda et al."""

from __future__ import annotations

import math
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from certiformer.lab.models._base import check_choice, check_count
from certiformer.lab.models._draws import Generator, array, generators
from certiformer.lab.tasks._task import Dataset, Task, check_number

SPLITS = ("random", "independent")
BURN_IN = 800
PERIOD = 32.0


class Autoregressive(eqx.Module):
    r"""x_t = coefficient * x_{t-L} + e_t,  e_t ~ N(0, variance) independent; the label of a window is the next value.

    A window has L + 1 tokens. A token is the value at one time, followed by sines and then cosines of the place j in
    the window with periods 32, 64, 128, ... (`pairs` of each). Only the value L steps back helps: given the window, the
    label is N(coefficient * x_{t-L}, variance), so the Bayes risk of the squared loss is `variance` (before labels
    are standardised), and a predictor that ignores the window has variance / (1 - coefficient^2).
    """

    lag: int = eqx.field(static=True)
    coefficient: float = eqx.field(static=True)
    variance: float = eqx.field(static=True)
    pairs: int = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray | None = None,
        *,
        lag: int = 16,
        coefficient: float = 0.9,
        variance: float = 0.1,
        pairs: int = 8,
        dtype: Any = jnp.float32,
    ) -> Self:
        """The process; nothing about it is random."""
        check_count("lag", lag)
        check_count("pairs", pairs, 0)
        check_number("coefficient", coefficient, -1.0, 1.0, strict=True)
        check_number("variance", variance, 0.0, strict=True)
        return cls(lag, coefficient, variance, pairs, dtype)

    @property
    def tokens(self) -> int:
        """L + 1."""
        return self.lag + 1

    def series(self, rng: Generator, length: int, copies: int = 1) -> Float[np.ndarray, "copies length"]:
        """Independent copies of x_t after the burn-in; the first L values are N(0, 1)."""
        rows = -(-(BURN_IN + length) // self.lag)
        x = np.empty((copies, rows, self.lag))
        x[:, 0] = rng.standard_normal((copies, self.lag))
        # L interleaved series of order one advance together.
        for row in range(1, rows):
            noise = math.sqrt(self.variance) * rng.standard_normal((copies, self.lag))
            x[:, row] = self.coefficient * x[:, row - 1] + noise
        return x.reshape(copies, -1)[:, BURN_IN : BURN_IN + length]

    def positions(self) -> Float[np.ndarray, "tokens 2*pairs"]:
        """The positional channels of a window."""
        frequency = 2.0 * np.pi / (PERIOD * 2.0 ** np.arange(self.pairs))
        angle = np.arange(self.tokens)[:, None] * frequency
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)

    def windows(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n consecutive, overlapping windows of one series, and the values that follow them."""
        series = self.series(generators(key, 1)[0], n + self.tokens)[0]
        return self._dataset(series[np.arange(n)[:, None] + np.arange(self.tokens)], series[self.tokens :])

    def sample(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n independent examples: each window from a series of its own."""
        series = self.series(generators(key, 1)[0], self.tokens + 1, n)
        return self._dataset(series[:, :-1], series[:, -1])

    def _dataset(self, values: Float[np.ndarray, "n tokens"], labels: Float[np.ndarray, " n"]) -> Dataset:
        channels = np.broadcast_to(self.positions(), (*values.shape, 2 * self.pairs))
        inputs = np.concatenate([values[..., None], channels], axis=-1)
        target = self.coefficient * values[:, 1]
        return Dataset(array(inputs, self.dtype), array(labels, self.dtype), {"target": array(target, self.dtype)})


def autoregressive(
    key: PRNGKeyArray,
    *,
    n: int = 4000,
    n_test: int = 1000,
    split: str = "random",
    **settings: Any,
) -> Task:
    """n training and n_test validation windows; `settings` as in `Autoregressive.draw`.

    `random`, as released: n + n_test overlapping windows of one series, split at random, so that validation windows
    share points with training windows, and labels standardised by the mean and deviation of all of them.
    `independent`: validation windows come from a second series, and only the training labels set the scale. Labels
    are real; tokens are not scaled into the unit ball.
    """
    check_count("n", n)
    check_count("n_test", n_test)
    check_choice("split", split, SPLITS)
    source = Autoregressive.draw(**settings)
    key_train, key_test, key_split = jax.random.split(key, 3)
    if split == "random":
        everything = source.windows(key_train, n + n_test)
        order = generators(key_split, 1)[0].permutation(n + n_test)
        train, test, reference = everything.take(order[n_test:]), everything.take(order[:n_test]), everything
    else:
        train, test = source.windows(key_train, n), source.windows(key_test, n_test)
        reference = train
    centre, spread = float(np.mean(reference.labels)), float(np.std(reference.labels))

    def scaled(part: Dataset) -> Dataset:
        labels, target = ((np.asarray(y) - centre) / spread for y in (part.labels, part.meta["target"]))
        return Dataset(part.inputs, array(labels, source.dtype), {"target": array(target, source.dtype)})

    return Task(
        name="autoregressive",
        train=scaled(train),
        test=scaled(test),
        labels="real",
        risk="squared",
        bayes_risk=source.variance / spread**2,
        source=source,
        meta={"centre": centre, "spread": spread},
    )
