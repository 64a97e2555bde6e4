"""Teachers in the space of the student's tangent kernel: the width experiments of Arda et al."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.lab.models._base import activation, check_choice, check_count
from certiformer.lab.models._draws import Generator, array, clip_tokens, generators
from certiformer.lab.models.independent_heads import ACTIVATIONS
from certiformer.lab.tasks._task import Dataset, Task, check_number
from certiformer.theory.core.errors import InputError

VARIANTS = ("paper", "released_diagonal")


class Features(NamedTuple):
    """psi(X; u, W) of one example and one head: psi_c, psi_u and the factor of psi_w = factor q^T."""

    c: Float[Array, "*heads"]
    u: Float[Array, "*heads d"]
    w: Float[Array, "*heads d"]


class NTKTeacher(eqx.Module):
    r"""f(X) = E_{u,W} <psi(X; u, W), v(u, W)>, approximated by an average over a fixed pool of draws (u_k, W_k).

    where, with a = X^T p, p = softmax(X W q), M = Cov_p of the tokens, s = u^T a and q the last token:
    psi_c = sigma(s), psi_u = sigma'(s) a, psi_w = sigma'(s) M u q^T, which are the gradients of one head; and the
    transport map v mixes them over anchor examples X_r with weights alpha_r, sum |alpha_r| = 1:

        v_c = nu_c sum_r alpha_r psi_c(X_r),   v_u = nu_u sum_r alpha_r psi_u(X_r),
        v_w = sum_r alpha_r clip(psi_w(X_r), nu_w),   clip: shortened to Frobenius norm nu_w,

    so that |v_c| <= nu_c, ||v_u|| <= nu_u, ||v_w|| <= nu_w for every (u, W). (Arda et al., equation 10, section 6.1.)

    `paper` uses the whole matrix W; `released_diagonal` scores with the diagonal of W only, as the released program
    does through a repeated index, and is then not in the space of the student's kernel.
    """

    anchors: Float[Array, "anchors tokens d"]
    mixture: Float[Array, " anchors"]
    pool_u: Float[Array, "pool d"]
    pool_W: Float[Array, "pool d d"]
    nu: tuple[float, float, float] = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    variant: str = eqx.field(static=True)
    noise: float = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray,
        *,
        d: int = 8,
        tokens: int = 16,
        anchors: int = 16,
        pool: int = 8192,
        nu: tuple[float, float, float] = (3.0, 3.0, 3.0),
        activation: str = "tanh",
        variant: str = "paper",
        noise: float = 0.0,
        dtype: Any = jnp.float32,
    ) -> Self:
        """Draw anchors from the distribution of the inputs, weights N(0, 1) scaled to l1 norm 1, and the pool."""
        for name, count in (("d", d), ("tokens", tokens), ("anchors", anchors), ("pool", pool)):
            check_count(name, count)
        if len(nu) != 3:
            raise InputError("nu", nu, "three numbers: nu_c, nu_u, nu_w")
        for name, bound in zip(("nu_c", "nu_u", "nu_w"), nu, strict=True):
            check_number(name, bound)
        check_number("noise", noise)
        check_choice("activation", activation, ACTIVATIONS)
        check_choice("variant", variant, VARIANTS)
        rng_anchor, rng_mix, rng_u, rng_W = generators(key, 4)
        mixture = rng_mix.standard_normal(anchors)
        return cls(
            anchors=array(unit_ball_tokens(rng_anchor, anchors, tokens, d), dtype),
            mixture=array(mixture / np.sum(np.abs(mixture)), dtype),
            pool_u=array(rng_u.standard_normal((pool, d)), dtype),
            pool_W=array(rng_W.standard_normal((pool, d, d)), dtype),
            nu=(float(nu[0]), float(nu[1]), float(nu[2])),
            activation=activation,
            variant=variant,
            noise=float(noise),
        )

    def keys(self, q: Float[Array, " d"], W: Float[Array, "heads d d"]) -> Float[Array, "heads d"]:
        """W q, with the diagonal of W only in the released variant."""
        return W @ q if self.variant == "paper" else jnp.diagonal(W, axis1=1, axis2=2) * q

    def activated(self, s: Float[Array, " heads"]) -> tuple[Float[Array, " heads"], Float[Array, " heads"]]:
        """sigma(s) and sigma'(s)."""
        return jax.jvp(activation(self.activation), (s,), (jnp.ones_like(s),))

    def features(
        self, x: Float[Array, "tokens d"], u: Float[Array, "heads d"], W: Float[Array, "heads d d"]
    ) -> Features:
        """psi(X; u, W) for several heads."""
        p = jax.nn.softmax(self.keys(x[-1], W) @ x.T, axis=-1)
        a = p @ x
        s = jnp.sum(u * a, axis=-1)
        value, slope = self.activated(s)
        # M u = sum_t p_t (x_t.u - a.u) x_t, without the d x d covariance.
        covariance_u = (p * (u @ x.T - s[:, None])) @ x
        return Features(value, slope[:, None] * a, slope[:, None] * covariance_u)

    def transport(
        self, u: Float[Array, "heads d"], W: Float[Array, "heads d d"]
    ) -> tuple[Float[Array, " heads"], Float[Array, "heads d"], Float[Array, "heads d d"]]:
        """(v_c, v_u, v_w) at given (u, W)."""
        nu_c, nu_u, nu_w = self.nu
        at = jax.vmap(lambda anchor: self.features(anchor, u, W))(self.anchors)
        queries = self.anchors[:, -1]
        norms = jnp.linalg.norm(at.w, axis=-1) * jnp.linalg.norm(queries, axis=-1)[:, None]
        clip = jnp.minimum(1.0, nu_w / jnp.maximum(norms, 1e-30))
        v_c = nu_c * jnp.einsum("r,rh->h", self.mixture, at.c)
        v_u = nu_u * jnp.einsum("r,rhi->hi", self.mixture, at.u)
        v_w = jnp.einsum("r,rh,rhi,rj->hij", self.mixture, clip, at.w, queries)
        return v_c, v_u, v_w

    @eqx.filter_jit
    def average(
        self, inputs: Float[Array, "n tokens d"], u: Float[Array, "heads d"], W: Float[Array, "heads d d"]
    ) -> Float[Array, " n"]:
        """mean_h <psi(X; u_h, W_h), v(u_h, W_h)>: the teacher if (u, W) is the pool, its m-head proxy otherwise."""
        v_c, v_u, v_w = self.transport(u, W)

        # With p the attention and s = u.a: psi_u.v_u = sigma'(s) sum_t p_t x_t.v_u, and
        # <psi_w, v_w> = sigma'(s) sum_t p_t (x_t.u - s) x_t.(v_w q), so neither a nor M u is formed.
        def one(x: Float[Array, "tokens d"]) -> Float[Array, ""]:
            p = jax.nn.softmax(x @ self.keys(x[-1], W).T, axis=0)
            along_u = x @ u.T
            s = jnp.sum(p * along_u, axis=0)
            value, slope = self.activated(s)
            rest = x @ v_u.T + (along_u - s) * (x @ (v_w @ x[-1]).T)
            return jnp.mean(value * v_c + slope * jnp.sum(p * rest, axis=0))

        averages: Float[Array, " n"] = jax.lax.map(one, inputs, batch_size=64)
        return averages

    @eqx.filter_jit
    def target(self, inputs: Float[Array, "n tokens d"]) -> Float[Array, " n"]:
        """f at each input, without label noise; the pool is visited in chunks of at most 256 draws."""
        pool, d = self.pool_u.shape
        chunk = max(size for size in range(1, min(256, pool) + 1) if pool % size == 0)
        chunks = (self.pool_u.reshape(-1, chunk, d), self.pool_W.reshape(-1, chunk, d, d))
        return jnp.mean(jax.lax.map(lambda part: self.average(inputs, *part), chunks), axis=0)

    def sample(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n inputs, their labels f(X) + noise * N(0, 1), and f(X) as `target` in `meta`."""
        rng_x, rng_noise = generators(key, 2)
        _, tokens, d = self.anchors.shape
        return self.label(rng_noise, array(unit_ball_tokens(rng_x, n, tokens, d), self.anchors.dtype))

    def label(self, rng: Generator, inputs: Float[Array, "n tokens d"]) -> Dataset:
        """The given inputs with their labels."""
        target = self.target(inputs)
        labels = target + array(self.noise * rng.standard_normal(target.shape), target.dtype)
        return Dataset(inputs, labels, {"target": target})


def ntk_teacher(
    key: PRNGKeyArray, *, n: int = 4000, n_test: int = 1000, variant: str = "paper", **settings: Any
) -> Task:
    """n training and n_test validation examples of one teacher; `settings` as in `NTKTeacher.draw`.

    Inputs have independent N(0, 1) entries, and tokens longer than 1 are scaled to length 1. In the variant
    `released_diagonal` the anchors are among the inputs, as in the released program; in `paper` they are drawn apart.
    Labels are real; the Bayes risk of the squared loss is noise^2.
    """
    check_count("n", n)
    check_count("n_test", n_test)
    key_source, key_sample = jax.random.split(key)
    rng_x, rng_anchor, rng_noise = generators(key_sample, 3)
    source = NTKTeacher.draw(key_source, variant=variant, **settings)
    count, tokens, d = source.anchors.shape
    inputs = array(unit_ball_tokens(rng_x, n + n_test, tokens, d), source.anchors.dtype)
    if variant == "released_diagonal":
        rows = rng_anchor.permutation(n + n_test)[:count]
        if rows.shape[0] < count:
            raise InputError(
                "anchors", count, f"at most n + n_test = {n + n_test}, since they are taken from the inputs"
            )
        source = eqx.tree_at(lambda teacher: teacher.anchors, source, inputs[rows])
    labelled = source.label(rng_noise, inputs)
    return Task(
        name="ntk_teacher",
        train=labelled.take(slice(0, n)),
        test=labelled.take(slice(n, None)),
        labels="real",
        risk="squared",
        bayes_risk=source.noise**2,
        source=source,
    )


def unit_ball_tokens(rng: Generator, n: int, tokens: int, d: int) -> Float[np.ndarray, "n tokens d"]:
    """Independent N(0, 1) entries, tokens longer than 1 scaled to length 1."""
    return clip_tokens(rng.standard_normal((n, tokens, d)), 1.0)
