"""Projected gradient descent of the width experiment, and the AR(96) pair, on the experiments' own data."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.compare import Case, Losses, Side
from certiformer.lab.training import kernels
from certiformer.reproduction.papers import _arda_lag_runs as lags
from certiformer.reproduction.papers import _arda_width_runs as widths
from certiformer.reproduction.papers._arda_width_grid import step_size

SAMPLES, LAG = 4000, 96
RATE = step_size(4000)


def width_step(width: int) -> Callable[[str | None], dict[str, Side]]:
    """Figure 1: 4,000 samples of 16 tokens in 8 dimensions, radii 3, step 1.75/sqrt(4000)."""

    def sides(authors: str | None) -> dict[str, Side]:
        problem = widths._problem("released_diagonal", 1, SAMPLES, 1000, 256, 16)
        x, y = np.array(problem.x[:SAMPLES]), np.array(problem.y[:SAMPLES])
        start = widths._weights({"seed": 1, "width": width})
        inputs, labels = torch.tensor(x), torch.tensor(y)
        found = {
            "plain": _descent(start, lambda *p: ((_plain(inputs, *p) - labels) ** 2).mean(), RATE, radius=3.0),
            "algebra": _by_hand(start, _heads(inputs, labels), RATE, radius=3.0),
            "ours": _ours(kernels.HeadDescent(x, y), start, RATE, radius=3.0),
        }
        if authors is not None:
            found["authors"] = _released(authors, "Transformer", start, x, y, RATE, radius=3.0)
        return found

    return sides


def ar_transformer(authors: str | None) -> dict[str, Side]:
    """Figure 2, L = 96: 4,000 windows of 97 tokens in 17 dimensions, 64 heads, step 0.05."""
    data, start = _windows("transformer")
    x, y = _whole(data), data.y
    inputs, labels, p = torch.tensor(x), torch.tensor(y), torch.tensor(data.positions)
    s = torch.tensor(data.values)

    found = {
        "plain": _descent(start, lambda *q: ((_plain(inputs, *q) - labels) ** 2).mean(), 0.05),
        "algebra": _by_hand(start, _window_heads(s, p, labels), 0.05),
        "ours": _ours(kernels.WindowHeads(data), start, 0.05),
    }
    if authors is not None:
        found["authors"] = _released(authors, "Transformer", start, x, y, 0.05)
    return found


def ar_indrnn(authors: str | None) -> dict[str, Side]:
    """The same windows through 64 recurrent units, in double precision, as the control runs of the experiment."""
    data, start = _windows("indrnn")
    x, y = _whole(data), data.y
    inputs, labels = torch.tensor(x), torch.tensor(y)
    s, p = torch.tensor(data.values), torch.tensor(data.positions)

    def recurrent(drive):  # type: ignore[no-untyped-def]
        def loss(c, u, w):  # type: ignore[no-untyped-def]
            hidden = torch.zeros(len(inputs), 64, dtype=inputs.dtype)
            for t in range(inputs.shape[1]):
                hidden = torch.tanh(drive(w, t) + u * hidden)
            return ((hidden @ c / 8.0 - labels) ** 2).mean()

        return loss

    found = {
        "plain": _descent(start, recurrent(lambda w, t: inputs[:, t] @ w.T), 0.05),
        "algebra": _descent(start, recurrent(lambda w, t: s[:, t, None] * w[:, 0] + w[:, 1:] @ p[t]), 0.05),
        "ours": _ours(kernels.WindowUnits(data), start, 0.05),
    }
    if authors is not None:
        found["authors"] = _released(authors, "IndiRNN", start, x, y, 0.05)
    return found


def _windows(network: str) -> tuple[kernels.Windows, dict[str, Any]]:
    sizes = {"n": SAMPLES, "n_test": 1000, "n_jacobian": 1, "width": 64, "pairs": 8}
    config = {"network": network, "lag": LAG, "seed": 1, **sizes}
    return lags._batches(config).train, lags._weights(config)


def _whole(data: kernels.Windows) -> Any:
    channels = np.broadcast_to(data.positions, (len(data.y), *data.positions.shape))
    return np.concatenate([data.values[..., None], channels], axis=-1)


def _plain(x, c, u, W):  # type: ignore[no-untyped-def]
    keys = torch.einsum("hij,nj->nhi", W, x[:, -1])
    attention = torch.softmax(torch.einsum("nhi,nti->nht", keys, x), dim=-1)
    attended = torch.einsum("nht,nti->nhi", attention, x)
    return torch.tanh((attended * u).sum(-1)) @ c / math.sqrt(len(c))


TOGETHER = 2**17
"""Numbers of an array that an expert keeps in the cache: samples come in blocks."""


def _heads(x, y):  # type: ignore[no-untyped-def]
    """An expert's figure 1: attention averages the projections x_t.u, the gradient by hand, block by block."""
    n, tokens, d = x.shape

    def gradient(c, u, W):  # type: ignore[no-untyped-def]
        m = len(c)
        loss, scale, block = 0.0, m**-0.5, max(1, TOGETHER // (m * tokens))
        d_c, d_u, d_W = torch.zeros_like(c), torch.zeros_like(u), torch.zeros(m * d, d)
        for first in range(0, n, block):
            part, query = x[first : first + block], x[first : first + block, -1]
            keys = (query @ W.reshape(m * d, d).T).view(-1, m, d)
            mass = torch.softmax(torch.bmm(keys, part.transpose(1, 2)), dim=-1)
            values = (part @ u.T).transpose(1, 2)
            mean = (mass * values).sum(-1)
            hidden = torch.tanh(mean)
            residual = hidden @ c * scale - y[first : first + block]
            loss += float(residual @ residual) / n
            slope = residual * (2.0 * scale / n)
            d_c += slope @ hidden
            pull = mass * (slope[:, None] * c * (1.0 - hidden * hidden))[:, :, None]
            d_u += pull.transpose(0, 1).reshape(m, -1) @ part.reshape(-1, d)
            moved = torch.bmm(pull * (values - mean[:, :, None]), part)
            d_W += moved.view(-1, m * d).T @ query
        return loss, (d_c, d_u, d_W.view(m, d, d))

    return gradient


def _window_heads(s, p, y):  # type: ignore[no-untyped-def]
    """An expert's figure 2: three products for a logit, z_t = s_t (W_00 s_T + W_0p.p_T) + s_T B_t + C_t, as above."""
    n, tokens = s.shape

    def gradient(c, u, W):  # type: ignore[no-untyped-def]
        m, last_p = len(c), p[-1]
        loss, scale, block = 0.0, m**-0.5, max(1, TOGETHER // (m * tokens))
        drift, by_last, fixed = W[:, 0, 1:] @ last_p, p @ W[:, 1:, 0].T, p @ (W[:, 1:, 1:] @ last_p).T
        through = p @ u[:, 1:].T
        d_c, moved_y, moved, pulled = (torch.zeros_like(one) for one in (c, fixed, fixed, fixed))
        sums = [torch.zeros(m) for _ in range(3)]
        for first in range(0, n, block):
            part = s[first : first + block]
            last = part[:, -1:]
            logits = part[:, :, None] * (last * W[:, 0, 0] + drift)[:, None] + (last[:, :, None] * by_last + fixed)
            mass = torch.softmax(logits, dim=1)
            values = part[:, :, None] * u[:, 0] + through
            mean = (mass * values).sum(1)
            hidden = torch.tanh(mean)
            residual = hidden @ c * scale - y[first : first + block]
            loss += float(residual @ residual) / n
            slope = residual * (2.0 * scale / n)
            d_c += slope @ hidden
            pull = mass * (slope[:, None] * c * (1.0 - hidden * hidden))[:, None]
            pulled += pull.sum(0)
            sums[2] += torch.einsum("ntm,nt->m", pull, part)
            g = pull * (values - mean[:, None])
            moved += g.sum(0)
            moved_y += torch.einsum("ntm,n->tm", g, last[:, 0])
            along = torch.einsum("ntm,nt->nm", g, part)
            sums[0] += along.T @ last[:, 0]
            sums[1] += along.sum(0)
        d_u, d_W = torch.empty_like(u), torch.empty_like(W)
        d_u[:, 0], d_u[:, 1:] = sums[2], pulled.T @ p
        d_W[:, 0, 0], d_W[:, 0, 1:] = sums[0], sums[1][:, None] * last_p
        d_W[:, 1:, 0], d_W[:, 1:, 1:] = moved_y.T @ p, (moved.T @ p)[:, :, None] * last_p
        return loss, (d_c, d_u, d_W)

    return gradient


def _descent(start, loss_of, rate, *, radius=None):  # type: ignore[no-untyped-def]
    """Gradients from PyTorch itself."""

    def gradient(*params):  # type: ignore[no-untyped-def]
        known = [value.detach().requires_grad_() for value in params]
        loss = loss_of(*known)
        return loss.item(), torch.autograd.grad(loss, known)

    return _by_hand(start, gradient, rate, radius=radius)


def _by_hand(start, gradient_of, rate, *, radius=None):  # type: ignore[no-untyped-def]
    centre = [torch.tensor(value) for value in start.values()]

    def side(steps: int) -> Losses:
        params = [value.clone() for value in centre]
        losses = []
        for _ in range(steps):
            loss, gradients = gradient_of(*params)
            with torch.no_grad():
                for value, gradient, middle in zip(params, gradients, centre, strict=True):
                    value.sub_(rate * gradient)
                    if radius is not None:
                        delta = (value - middle).reshape(len(middle), -1)
                        shrink = torch.clamp(radius / len(middle) ** 0.5 / delta.norm(dim=1), max=1.0)
                        value.copy_(middle + (delta * shrink[:, None]).reshape(middle.shape))
            losses.append(loss)
        return np.array(losses)

    return side


def _ours(descent, start, rate, *, radius=None):  # type: ignore[no-untyped-def]
    def side(steps: int) -> Losses:
        weights, losses = start, []
        for _ in range(steps):
            loss, gradient = descent.gradient(weights)
            losses.append(loss)
            weights = {name: value - value.dtype.type(rate) * gradient[name] for name, value in weights.items()}
            if radius is not None:
                ball = radius / math.sqrt(len(start["c"]))
                weights = {name: kernels.onto_ball(value, start[name], ball) for name, value in weights.items()}
        return np.array(losses)

    return side


def _released(checkout, kind, start, x, y, rate, *, radius=None):  # type: ignore[no-untyped-def]
    """The authors' network and projection, from a checkout of their repository; tokens stand in columns there."""
    sys.path.insert(0, str(Path(checkout) / "src"))
    try:
        from transformer_ntk import model as released
    finally:
        sys.path.pop(0)
    inputs, labels = torch.tensor(np.ascontiguousarray(x.transpose(0, 2, 1))), torch.tensor(y)
    names = {"c": "c", "u": "U", "W": "W"} if kind == "Transformer" else {"c": "c", "u": "u", "w": "W_in"}

    def side(steps: int) -> Losses:
        shape = (inputs.shape[1], inputs.shape[2], len(start["c"]))
        network = getattr(released, kind)(*shape, activation=torch.tanh, dtype=inputs.dtype)
        with torch.no_grad():
            for ours, theirs in names.items():
                getattr(network, theirs).copy_(torch.tensor(start[ours]))
            for centre, name in (("c0", "c"), ("U0", "u"), ("u0", "u"), ("W0", "W"), ("W0", "w")):
                if hasattr(network, centre) and name in names:
                    getattr(network, centre).copy_(torch.tensor(start[name]))
        optimiser, losses = torch.optim.SGD(network.parameters(), lr=rate), []
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            loss = torch.nn.functional.mse_loss(network(inputs), labels)
            loss.backward()
            optimiser.step()
            if radius is not None:
                network.project_(radius, radius, radius)
            losses.append(loss.item())
        return np.array(losses)

    return side


def _width_operations(m: int, tokens: int = 16, d: int = 8) -> float:
    return float(SAMPLES * m * (2 * (2 * d * d + 4 * tokens * d) + tokens * 30))


CASES = [
    *(
        Case(
            f"arda_m{m}",
            f"projected step of figure 1, m = {m}",
            target,
            "float32",
            _width_operations(m),
            width_step(m),
            steps=steps,
        )
        for m, target, steps in ((16, 5.5, 20), (256, 6.0, 5))
    ),
    Case("ar96_transformer", "step of figure 2, L = 96", 9.0, "float32", SAMPLES * 64 * 97 * 50.0, ar_transformer),
    Case("ar96_indrnn", "step of figure 2, L = 96", 7.0, "float64", SAMPLES * 64 * 97 * 45.0, ar_indrnn, agreement=2),
]
