r"""Deora's Lemma 1: gradient and Hessian of one attention head in closed form.

    Phi(U, W) = <U, softmax(X W X^T) X> = sum_t u_t^T a_t,     p_t = softmax(X W^T x_t),  a_t = X^T p_t

With J_t = diag(p_t) - p_t p_t^T (the paper prints phi' with v v^T; it is p p^T) and s_t = X B^T x_t,

    grad_U = (a_1, ..., a_T)^T,         grad_W = sum_t x_t (X^T J_t X u_t)^T,
    D^2 Phi[(A, B)] = 2 sum_t Cov_{p_t}(X a_t, s_t) + sum_t E_{p_t}(y - E y)(s_t - E s_t)^2,   y = X u_t.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def attention(x: npt.ArrayLike, W: npt.ArrayLike) -> Matrix:
    """Rows p_t = softmax(X W^T x_t)."""
    tokens = np.asarray(x, np.float64)
    scores = tokens @ np.asarray(W, np.float64) @ tokens.T
    mass = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.asarray(mass / np.sum(mass, axis=1, keepdims=True))


def head_value(x: npt.ArrayLike, U: npt.ArrayLike, W: npt.ArrayLike) -> float:
    """Phi(U, W)."""
    tokens, readout, weights = (np.asarray(part, np.float64) for part in (x, U, W))
    return float(np.sum(readout * (attention(tokens, weights) @ tokens)))


def head_gradient(x: npt.ArrayLike, U: npt.ArrayLike, W: npt.ArrayLike) -> tuple[Matrix, Matrix]:
    """(grad_U, grad_W)."""
    tokens, readout, weights = (np.asarray(part, np.float64) for part in (x, U, W))
    p = attention(tokens, weights)
    mean = p @ tokens
    # Row t of `pull` is J_t X u_t = p_t * (y_t - p_t.y_t), with y_t = X u_t.
    y = readout @ tokens.T
    pull = p * (y - np.sum(p * y, axis=1, keepdims=True))
    return mean, tokens.T @ (pull @ tokens)


def head_hessian(x: npt.ArrayLike, U: npt.ArrayLike, W: npt.ArrayLike) -> Matrix:
    """The symmetric Hessian in (vec U, vec W), rows of U and W one after another; its UU block is zero."""
    tokens, readout, weights = (np.asarray(part, np.float64) for part in (x, U, W))
    count, d = tokens.shape
    p = attention(tokens, weights)
    centred = tokens[None] - (p @ tokens)[:, None]
    covariance = np.einsum("ts,tsi,tsj->tij", p, centred, centred)
    y = readout @ tokens.T
    third = np.einsum("ts,tsi,tsj->tij", p * (y - np.sum(p * y, axis=1, keepdims=True)), centred, centred)
    # d^2/dU_{ti} dW_{kl} = x_tk Cov_t[i,l];   d^2/dW_{kl} dW_{k'l'} = sum_t x_tk x_tk' third_t[l,l'].
    mixed = np.einsum("tk,til->tikl", tokens, covariance).reshape(count * d, d * d)
    inner = np.einsum("tk,tm,tln->klmn", tokens, tokens, third).reshape(d * d, d * d)
    return np.block([[np.zeros((count * d, count * d)), mixed], [mixed.T, inner]])


def head_second_derivative(
    x: npt.ArrayLike, U: npt.ArrayLike, W: npt.ArrayLike, A: npt.ArrayLike, B: npt.ArrayLike
) -> float:
    """D^2 Phi[(A, B)] by the covariance and third-cumulant form, without the Hessian."""
    tokens, readout, weights = (np.asarray(part, np.float64) for part in (x, U, W))
    p = attention(tokens, weights)
    moves = tokens @ np.asarray(B, np.float64) @ tokens.T

    def centred(rows: Matrix) -> Matrix:
        return np.asarray(rows - np.sum(p * rows, axis=1, keepdims=True))

    s, y = centred(moves), centred(readout @ tokens.T)
    return float(np.sum(p * s * (2 * centred(np.asarray(A, np.float64) @ tokens.T) + y * s)))
