"""Transformer teachers on Gaussian and heavy-tailed tokens: the experiments that Li et al.'s claims ask for."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import check_choice, check_count
from certiformer.lab.models._draws import Generator, array, clip_tokens, generators, unit_directions
from certiformer.lab.models.cls_transformer import (
    ClsTransformer,
    ClsTransformerConfig,
    LowRankClsTransformer,
    LowRankClsTransformerConfig,
)
from certiformer.lab.tasks._task import Dataset, Task, check_number

TAILS = ("gaussian", "student", "pareto")
NOISES = ("gaussian", "student")


class HeavyTails(eqx.Module):
    r"""Y = f°(X) + noise,  f°(X) = teacher(X) + misfit * cos(<direction, mean token>).

    where: the tokens of X are independent. `gaussian`: entries N(0, 1/d). `student`: entries t_beta / sqrt(d).
    `pareto`: a uniform direction times a radius r with P(r > t) = t^-beta for t >= 1. With `clip`, tokens longer than
    that are shortened to it. The teacher is a `ClsTransformer`. Every network of that class vanishes at X = 0, and
    f°(0) = misfit, so a misfit other than 0 makes the class misspecified. The noise is `sigma` times N(0, 1) or t_nu.
    """

    teacher: ClsTransformer
    direction: Float[Array, " d"]
    tokens: int = eqx.field(static=True)
    tail: str = eqx.field(static=True)
    beta: float = eqx.field(static=True)
    clip: float | None = eqx.field(static=True)
    noise: str = eqx.field(static=True)
    sigma: float = eqx.field(static=True)
    nu: float = eqx.field(static=True)
    misfit: float = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray,
        *,
        tokens: int = 4,
        d: int = 4,
        k: int = 4,
        heads: int = 1,
        layers: int = 1,
        rank: int | None = None,
        activation: str = "leaky_relu",
        block: str = "li",
        tail: str = "gaussian",
        beta: float = 3.0,
        clip: float | None = None,
        noise: str = "gaussian",
        sigma: float = 0.1,
        nu: float = 2.2,
        misfit: float = 0.0,
        dtype: Any = jnp.float32,
    ) -> Self:
        """Draw a teacher, of rank at most `rank` if that is given."""
        check_count("tokens", tokens)
        check_choice("tail", tail, TAILS)
        check_choice("noise", noise, NOISES)
        for name, value in (("beta", beta), ("nu", nu)):
            check_number(name, value, 0.0, strict=True)
        check_number("sigma", sigma)
        check_number("misfit", misfit, -math.inf)
        if clip is not None:
            check_number("clip", clip, 0.0, strict=True)
        key_teacher, key_direction = jax.random.split(key)
        full = ClsTransformerConfig(d=d, k=k, heads=heads, layers=layers, activation=activation, block=block)
        if rank is None:
            teacher = ClsTransformer.init(key_teacher, full, dtype=dtype)
        else:
            config = LowRankClsTransformerConfig(**asdict(full), rank=rank)
            teacher = LowRankClsTransformer.init(key_teacher, config, dtype=dtype).merged()
        return cls(
            teacher=teacher,
            direction=array(unit_directions(generators(key_direction, 1)[0], (d,)), dtype),
            tokens=tokens,
            tail=tail,
            beta=float(beta),
            clip=clip,
            noise=noise,
            sigma=float(sigma),
            nu=float(nu),
            misfit=float(misfit),
        )

    @property
    def bayes_risk(self) -> float:
        """The variance of the noise, which is the least squared risk; infinite for t_nu with nu <= 2."""
        if self.noise == "gaussian" or self.sigma == 0.0:
            return self.sigma**2
        return self.sigma**2 * self.nu / (self.nu - 2.0) if self.nu > 2.0 else math.inf

    def sample_inputs(self, rng: Generator, n: int) -> Float[Array, "n tokens d"]:
        """n sequences of tokens."""
        shape = (n, self.tokens, self.direction.shape[0])
        if self.tail == "gaussian":
            x = rng.standard_normal(shape) / math.sqrt(shape[-1])
        elif self.tail == "student":
            x = rng.standard_t(self.beta, shape) / math.sqrt(shape[-1])
        else:
            x = (1.0 + rng.pareto(self.beta, (*shape[:2], 1))) * unit_directions(rng, shape)
        return array(x if self.clip is None else clip_tokens(x, self.clip), self.direction.dtype)

    @eqx.filter_jit
    def target(self, inputs: Float[Array, "n tokens d"]) -> Float[Array, " n"]:
        """f°(X), the regression function."""
        misfit = self.misfit * jnp.cos(jnp.mean(inputs, axis=1) @ self.direction)
        return jax.vmap(self.teacher)(inputs) + misfit

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
        meta={"well_specified": source.misfit == 0.0},
    )
