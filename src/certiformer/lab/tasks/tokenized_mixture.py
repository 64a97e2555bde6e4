"""The tokenized mixture (DM1) of Deora et al., with noise that is bounded almost surely."""

from __future__ import annotations

import math
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import check_count
from certiformer.lab.models._draws import Generator, array, clip_tokens, generators, signs
from certiformer.lab.tasks._task import Dataset, Task, check_number
from certiformer.theory.core.errors import InputError


class TokenizedMixture(eqx.Module):
    r"""Labels y = +-1, fair. zeta T relevant tokens equal mu_y; each other token is nu_j + z with j uniform on 1..M.

    where: mu_+, mu_-, nu_1, ..., nu_M are orthogonal with norm S. The noise z is Gaussian with standard deviation
    `noise` per coordinate, its coordinates along the patterns clipped so that |<z, mu>| <= Z_mu and
    |<z, nu_l>| <= Z_nu / M, then shortened to length Z: the conditions of Assumption 3 hold with certainty. Relevant
    positions are drawn anew for each example. Every token has norm at most `radius`.
    """

    patterns: Float[Array, "M+2 d"]
    complement: Float[Array, "d-M-2 d"]
    tokens: int = eqx.field(static=True)
    relevant: int = eqx.field(static=True)
    S: float = eqx.field(static=True)
    Z_mu: float = eqx.field(static=True)
    Z_nu: float = eqx.field(static=True)
    Z: float = eqx.field(static=True)
    noise: float = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray,
        *,
        tokens: int = 8,
        zeta: float = 0.25,
        M: int = 2,
        d: int = 12,
        S: float = 2.0,
        Z_mu: float = 0.2,
        Z_nu: float = 0.2,
        Z: float = 0.5,
        noise: float = 0.15,
        dtype: Any = jnp.float32,
    ) -> Self:
        """Draw the patterns: a uniformly random orthogonal frame times S."""
        for name, count in (("tokens", tokens), ("M", M), ("d", d)):
            check_count(name, count)
        check_number("S", S, 0.0, strict=True)
        for name, bound in (("Z_mu", Z_mu), ("Z_nu", Z_nu), ("Z", Z), ("noise", noise)):
            check_number(name, bound)
        if d < M + 2:
            raise InputError("d", d, f"at least M + 2 = {M + 2}, for that many orthogonal patterns")
        frame = array(np.linalg.qr(generators(key, 1)[0].standard_normal((d, d)))[0].T, dtype)
        return cls(
            patterns=S * frame[: M + 2],
            complement=frame[M + 2 :],
            tokens=tokens,
            relevant=relevant_tokens(zeta, tokens),
            S=S,
            Z_mu=Z_mu,
            Z_nu=Z_nu,
            Z=Z,
            noise=noise,
        )

    @property
    def M(self) -> int:
        """The number of irrelevant patterns."""
        return self.patterns.shape[0] - 2

    @property
    def radius(self) -> float:
        """R = sqrt(S^2 + Z^2 + 2 Z_nu / M), an almost sure bound on the norm of a token."""
        return math.sqrt(self.S**2 + self.Z**2 + 2.0 * self.Z_nu / self.M)

    def mu(self, sign: int) -> Float[Array, " d"]:
        """mu_+ or mu_-."""
        return self.patterns[0] if sign > 0 else self.patterns[1]

    def sample_noise(self, rng: Generator, shape: tuple[int, ...]) -> Float[np.ndarray, "*shape d"]:
        """Noise vectors z."""
        frame = np.concatenate([np.asarray(self.patterns) / self.S, np.asarray(self.complement)]).astype(np.float64)
        coordinates = self.noise * rng.standard_normal((*shape, frame.shape[0]))
        along = [self.Z_mu / self.S] * 2 + [self.Z_nu / (self.M * self.S)] * self.M
        limits = np.asarray(along + [self.Z] * (frame.shape[0] - len(along)))
        return clip_tokens(np.clip(coordinates, -limits, limits), self.Z) @ frame

    def sample(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n independent examples; `meta` has the boolean matrix of relevant positions."""
        rng_y, rng_j, rng_z, rng_r = generators(key, 4)
        patterns = np.asarray(self.patterns, np.float64)
        y = signs(rng_y, (n,))
        irrelevant = patterns[2:][rng_j.integers(0, self.M, (n, self.tokens))]
        irrelevant = irrelevant + self.sample_noise(rng_z, (n, self.tokens))
        mu = np.where(y[:, None, None] > 0, patterns[0], patterns[1])
        first = np.broadcast_to(np.arange(self.tokens) < self.relevant, (n, self.tokens))
        mask = rng_r.permuted(first, axis=1)
        inputs, dtype = np.where(mask[..., None], mu, irrelevant), self.patterns.dtype
        return Dataset(array(inputs, dtype), array(y, dtype), {"relevant": jnp.asarray(mask)})


def tokenized_mixture(key: PRNGKeyArray, *, n: int = 100, n_test: int = 2000, **settings: Any) -> Task:
    """n training and n_test test examples of one mixture; `settings` as in `TokenizedMixture.draw`.

    Labels are signs. A relevant token has <x, mu_y> = S^2 and any other |<x, mu_y>| <= Z_mu, so the label is a
    function of the tokens, and the Bayes risk is zero, whenever Z_mu < S^2.
    """
    check_count("n", n)
    check_count("n_test", n_test)
    key_source, key_train, key_test = jax.random.split(key, 3)
    source = TokenizedMixture.draw(key_source, **settings)
    return Task(
        name="tokenized_mixture",
        train=source.sample(key_train, n),
        test=source.sample(key_test, n_test),
        labels="signs",
        risk="zero-one",
        bayes_risk=0.0 if source.Z_mu < source.S**2 else None,
        source=source,
        meta={"radius": source.radius},
    )


def relevant_tokens(zeta: float, tokens: int) -> int:
    """zeta T, which must be a whole number of tokens between 1 and T - 1."""
    check_number("zeta", zeta, 0.0, 1.0, strict=True)
    relevant = round(zeta * tokens)
    if abs(zeta * tokens - relevant) > 1e-9 * tokens or not 1 <= relevant <= tokens - 1:
        fixed = min(max(relevant, 1), max(tokens - 1, 1))
        raise InputError(
            "zeta",
            zeta,
            f"a fraction for which zeta T = {zeta * tokens:g} is a whole number from 1 to T - 1 = {tokens - 1}",
            f"With T = {tokens} try zeta = {fixed}/{tokens} = {fixed / tokens:g}.",
        )
    return relevant
