"""Transformer teachers on Gaussian and heavy-tailed tokens: the experiments that Li et al.'s claims ask for."""

from __future__ import annotations

import math
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import check_choice, check_count
from certiformer.lab.models._draws import Generator, array, generators, unit_directions
from certiformer.lab.models.cls_transformer import ClsTransformer, ClsTransformerConfig
from certiformer.lab.tasks._task import Dataset, Task, check_number

TAILS = ("gaussian", "student", "pareto")
NOISES = ("gaussian", "student")


class HeavyTails(eqx.Module):
    r"""Y = f°(X) + noise, f° a teacher: a `ClsTransformer` of one layer and one head.

    where: the tokens of X are independent. `gaussian`: entries N(0, 1/d). `student`: entries t_beta / sqrt(d).
    `pareto`: a uniform direction times a radius r with P(r > t) = t^-beta for t >= 1. The noise is `sigma` times
    N(0, 1) or t_nu.
    """

    teacher: ClsTransformer
    tokens: int = eqx.field(static=True)
    tail: str = eqx.field(static=True)
    beta: float = eqx.field(static=True)
    noise: str = eqx.field(static=True)
    sigma: float = eqx.field(static=True)
    nu: float = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray,
        *,
        tokens: int = 4,
        d: int = 4,
        k: int = 4,
        activation: str = "leaky_relu",
        tail: str = "gaussian",
        beta: float = 3.0,
        noise: str = "gaussian",
        sigma: float = 0.1,
        nu: float = 2.2,
        dtype: Any = jnp.float32,
    ) -> Self:
        """Draw a teacher."""
        check_count("tokens", tokens)
        check_choice("tail", tail, TAILS)
        check_choice("noise", noise, NOISES)
        for name, value in (("beta", beta), ("nu", nu)):
            check_number(name, value, 0.0, strict=True)
        check_number("sigma", sigma)
        config = ClsTransformerConfig(d=d, k=k, activation=activation, block="li")
        return cls(
            # of two keys the first, as when the second drew something: a key means the same teacher
            teacher=ClsTransformer.init(jax.random.split(key)[0], config, dtype=dtype),
            tokens=tokens,
            tail=tail,
            beta=float(beta),
            noise=noise,
            sigma=float(sigma),
            nu=float(nu),
        )

    @property
    def bayes_risk(self) -> float:
        """The variance of the noise, which is the least squared risk; infinite for t_nu with nu <= 2."""
        if self.noise == "gaussian" or self.sigma == 0.0:
            return self.sigma**2
        return self.sigma**2 * self.nu / (self.nu - 2.0) if self.nu > 2.0 else math.inf

    def sample_inputs(self, rng: Generator, n: int) -> Float[Array, "n tokens d"]:
        """n sequences of tokens."""
        shape = (n, self.tokens, self.teacher.config.d)
        if self.tail == "gaussian":
            x = rng.standard_normal(shape) / math.sqrt(shape[-1])
        elif self.tail == "student":
            x = rng.standard_t(self.beta, shape) / math.sqrt(shape[-1])
        else:
            x = (1.0 + rng.pareto(self.beta, (*shape[:2], 1))) * unit_directions(rng, shape)
        return array(x, self.teacher.w.dtype)

    @eqx.filter_jit
    def target(self, inputs: Float[Array, "n tokens d"]) -> Float[Array, " n"]:
        """f°(X), the regression function."""
        return jax.vmap(self.teacher)(inputs)

    def sample(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n independent examples, with f°(X) as `target` in `meta`."""
        rng_x, rng_noise = generators(key, 2)
        inputs = self.sample_inputs(rng_x, n)
        target = self.target(inputs)
        noise = rng_noise.standard_normal(n) if self.noise == "gaussian" else rng_noise.standard_t(self.nu, n)
        return Dataset(inputs, target + array(self.sigma * noise, target.dtype), {"target": target})


def heavy_tails(key: PRNGKeyArray, *, n: int = 800, n_test: int = 10_000, **settings: Any) -> Task:
    """n training and n_test test examples of one teacher; `settings` as in `HeavyTails.draw`.

    Labels are real. The risk of a predictor f under the squared loss is `bayes_risk` + E (f(X) - f°(X))^2; the second
    term is estimated without label noise by comparing with `target` in the test sample's `meta`.
    """
    check_count("n", n)
    check_count("n_test", n_test)
    key_source, key_train, key_test = jax.random.split(key, 3)
    source = HeavyTails.draw(key_source, **settings)
    return Task(
        name="heavy_tails",
        train=source.sample(key_train, n),
        test=source.sample(key_test, n_test),
        labels="real",
        risk="squared",
        bayes_risk=source.bayes_risk,
        source=source,
    )
