"""The multi-head attention model in plain numpy, its gradient written out, to check the theorems against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Problem:
    """X (n, T, d), y (n,); the loss log(1 + exp(-scale z)); readout as in the theorems."""

    X: np.ndarray
    y: np.ndarray
    readout: str = "full"
    scale: float = 1.0

    def projection(self, u):
        """U (H, T, d) from the trained readout."""
        T = self.X.shape[1]
        if self.readout == "full":
            return u
        U = np.zeros((len(u), T, u.shape[-1]))
        if self.readout == "pooling":
            U[:] = u[:, None, :]
        else:
            U[:, -1] = u
        return U

    def outputs(self, u, W):
        U = self.projection(u)
        P = softmax(np.einsum("nti,hij,nsj->nhts", self.X, W, self.X))
        A = np.einsum("nhts,nsd->nhtd", P, self.X)
        return np.einsum("htd,nhtd->n", U, A) / np.sqrt(len(W))

    def losses(self, u, W):
        return np.logaddexp(0.0, -self.scale * self.y * self.outputs(u, W))

    def output_gradients(self, u, W):
        """Gradients of each output: (n, *u.shape), (n, H, d, d)."""
        U, X, H = self.projection(u), self.X, len(W)
        P = softmax(np.einsum("nti,hij,nsj->nhts", X, W, X))
        A = np.einsum("nhts,nsd->nhtd", P, X)
        values = np.einsum("htd,nsd->nhts", U, X)
        centred = P * (values - np.sum(P * values, axis=-1, keepdims=True))
        gW = np.einsum("nti,nhts,nsj->nhij", X, centred, X) / np.sqrt(H)
        gU = A / np.sqrt(H)
        if self.readout == "pooling":
            gU = gU.sum(axis=2)
        elif self.readout == "last":
            gU = gU[:, :, -1]
        return gU, gW

    def gradient(self, u, W, weights=None):
        """Gradient of sum_i weights_i l_i (default: the mean)."""
        weights = np.full(len(self.y), 1.0 / len(self.y)) if weights is None else weights
        z = self.scale * self.y * self.outputs(u, W)
        slope = -self.scale * self.y / (1.0 + np.exp(z)) * weights
        gU, gW = self.output_gradients(u, W)
        return np.tensordot(slope, gU, 1), np.tensordot(slope, gW, 1)

    def descend(self, u, W, eta, K, weights=None):
        """All iterates of gradient descent, the start included."""
        path = [(u, W)]
        for _ in range(K):
            gu, gW = self.gradient(u, W, weights)
            u, W = u - eta * gu, W - eta * gW
            path.append((u, W))
        return path

    def b(self, u):
        return float(np.max(np.linalg.norm(self.projection(u).reshape(len(u), -1), axis=1)))


def distance(first, second):
    return float(np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(first, second, strict=True))))


def random_problem(rng, n, T, d, R, readout="full", scale=1.0):
    X = rng.normal(size=(n, T, d))
    X *= R / np.maximum(np.linalg.norm(X, axis=-1, keepdims=True), R) * rng.uniform(0.5, 1.0)
    return Problem(X, rng.choice([-1.0, 1.0], n), readout, scale)


def random_start(rng, problem, H, size):
    T, d = problem.X.shape[1:]
    shape = (H, T, d) if problem.readout == "full" else (H, d)
    return size * rng.normal(size=shape), size * rng.normal(size=(H, d, d))


def mixture(rng, n, T, zeta, M, S, Zmu=0.0, Znu=0.0, d=None, corners=False):
    """Samples of the tokenized mixture with noise inside span(mu, nu), on the corners of its box if asked."""
    d = M + 2 if d is None else d
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0][: M + 2]
    plus, minus, nu = S * basis[0], S * basis[1], S * basis[2 : M + 2]
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    relevant = round(zeta * T)
    X = np.zeros((n, T, d))
    for i in range(n):
        X[i] = plus if y[i] > 0 else minus
        for t in rng.permutation(T)[relevant:]:
            draw = rng.choice([-1.0, 1.0], M + 2) if corners else rng.uniform(-1.0, 1.0, M + 2)
            noise = draw * np.array([Zmu, Zmu, *[Znu / M] * M]) / S
            X[i, t] = nu[rng.integers(M)] + noise @ basis[: M + 2]
    return Problem(X, y), (plus, minus, nu)
