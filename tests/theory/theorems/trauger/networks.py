"""The paper's network in plain numpy, to perturb and to shatter with."""

import numpy as np


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def unit_ball(rows):
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=-1, keepdims=True))


def attention(X, Wqk):
    """Rows t: X^T softmax(X Wqk^T x_t)."""
    return softmax(X @ Wqk @ X.T) @ X


def one_layer(X, w, Wc, Wv, Wqk, sigma, cls=0):
    """Section 4.1: w^T Wc^T sigma(Wv^T X^T softmax(X Wqk^T x_cls)), no projection."""
    a = X.T @ softmax(X @ Wqk.T @ X[cls])
    return float(w @ Wc.T @ sigma(Wv.T @ a))


def layer(X, heads, sigma):
    """Pi(sum_h sigma(Pi(attention Wv)) Wc)."""
    return unit_ball(sum(sigma(unit_ball(attention(X, Wqk) @ Wv)) @ Wc for Wc, Wv, Wqk in heads))


def deep(X, layers, w, sigma, cls=0):
    for heads in layers:
        X = layer(X, heads, sigma)
    return float(w @ X[cls])


def spectral(rng, shape, size):
    W = rng.normal(size=shape)
    return W * size / np.linalg.norm(W, 2)
