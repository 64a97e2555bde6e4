"""The networks of the paper written out once more, in plain numpy and in JAX, for the tests to measure."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf as jax_erf

JAX_SIGMA = {
    "tanh": jnp.tanh,
    "erf": lambda x: jax_erf(x / math.sqrt(2.0)),
    "sigmoid": lambda x: 1.0 / (1.0 + jnp.exp(-x)),
    "sin": jnp.sin,
}


def in_ball(x, radius=1.0):
    """The vector itself, or its radial projection on the ball."""
    norm = jnp.sqrt(jnp.sum(x**2, axis=-1, keepdims=True) + 1e-300)
    return x * jnp.minimum(1.0, radius / norm)


def head(sigma, theta, X, q):
    """h = sigma(u . a), a = X^T softmax(X W q); tokens in the rows of X; theta = (u, W) flattened."""
    d = X.shape[-1]
    u, W = theta[:d], theta[d:].reshape(d, d)
    scores = X @ (W @ q)
    p = jnp.exp(scores - jnp.max(scores))
    return sigma(u @ (p @ X / jnp.sum(p)))


def unit(sigma, theta, X):
    """h_T of h_t = sigma(w . x_t + u h_{t-1}), h_0 = 0; theta = (u, w)."""
    state = 0.0
    for x in X:
        state = sigma(theta[1:] @ x + theta[0] * state)
    return state


def tokens(rng, *shape):
    """Random tokens with norm at most one."""
    X = rng.normal(size=shape)
    return X / np.maximum(1.0, np.linalg.norm(X, axis=-1, keepdims=True))


def softmax(scores):
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def features(X, u, W):
    """Attended tokens a (heads x n x d) and covariance times u, Mu (heads x n x d); the query is the last token."""
    q = X[:, -1]
    p = softmax(np.einsum("ntd,hde,ne->hnt", X, W, q))
    a = np.einsum("hnt,ntd->hnd", p, X)
    ux = np.einsum("hd,ntd->hnt", u, X)
    Mu = np.einsum("hnt,ntd->hnd", p * ux, X) - np.einsum("hnt,hnt->hn", p, ux)[..., None] * a
    return a, Mu, q


class TanhNetwork:
    """f = m^{-1/2} sum c tanh(u . a) with hand-written gradients, over a batch of sequences."""

    def __init__(self, rng, m, d):
        half = m // 2
        u, W, c = rng.normal(size=(half, d)), rng.normal(size=(half, d, d)), rng.choice([-1.0, 1.0], half)
        self.m = m
        self.initial = (np.concatenate([c, -c]), np.concatenate([u, u]), np.concatenate([W, W]))

    def jacobian(self, parameters, X):
        """f (n) and its gradient blocks (n x ...)."""
        c, u, W = parameters
        a, Mu, q = features(X, u, W)
        h = np.tanh(np.einsum("hd,hnd->hn", u, a))
        slope = (c[:, None] * (1.0 - h**2)) / math.sqrt(self.m)
        f = c @ h / math.sqrt(self.m)
        return f, (
            h.T / math.sqrt(self.m),
            np.einsum("hn,hnd->nhd", slope, a),
            np.einsum("hn,hnd,ne->nhde", slope, Mu, q),
        )

    def project(self, parameters, rho):
        """Radial projection, block by block and head by head."""
        moved = []
        for now, start, radius in zip(parameters, self.initial, rho, strict=True):
            step = now - start
            norm = np.sqrt((step**2).reshape(self.m, -1).sum(1)).reshape((-1,) + (1,) * (step.ndim - 1))
            moved.append(start + step * np.minimum(1.0, radius / math.sqrt(self.m) / np.maximum(norm, 1e-300)))
        return tuple(moved)


def inner(blocks, other):
    return sum(float(np.sum(x * y)) for x, y in zip(blocks, other, strict=True))
