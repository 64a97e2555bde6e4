"""The shallow encoder in plain numpy."""

import numpy as np


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def features(X, WQ, WK, WV):
    """f_pre: mean over positions of relu(W_V X^T softmax(X W_K^T W_Q x_i / sqrt(d_m))); X is (samples, d_s, d)."""
    dm = WQ.shape[0]
    scores = np.einsum("nid,md,me,nje->nij", X, WQ, WK, X) / np.sqrt(dm)
    read = np.einsum("nij,njd->nid", softmax(scores), X)
    return np.maximum(read @ WV.T, 0).mean(axis=1)


def output(X, WQ, WK, WV, wO):
    return features(X, WQ, WK, WV) @ wO


def initial(rng, d, dm):
    """LeCun's initial weights."""
    return (*(rng.normal(size=(dm, d)) / np.sqrt(d) for _ in range(3)), rng.normal(size=dm) / np.sqrt(dm))


def inside(rng, W, radius, share=1.0):
    """A random point of the Frobenius ball of this radius around W."""
    away = rng.normal(size=W.shape)
    return W + away / np.linalg.norm(away) * radius * share


def norms(WQ, WK, WV, wO):
    """The optional inputs of the results."""
    return {
        "WQF": np.linalg.norm(WQ),
        "WKF": np.linalg.norm(WK),
        "WVF": np.linalg.norm(WV),
        "wOF": np.linalg.norm(wO),
        "WQ2": np.linalg.norm(WQ, 2),
        "WK2": np.linalg.norm(WK, 2),
        "WV2": np.linalg.norm(WV, 2),
    }
