from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import NamedTuple

from certiformer.theory.calculus.allocation import Term, network_cover, quadratic_total
from certiformer.theory.calculus.covers import Cover, dual_sudakov, rows_two_one, smallest, volumetric
from certiformer.theory.calculus.softmax import weight_sensitivity
from certiformer.theory.core import Quantity, Result, Status, Variants, count, derived, printed_value, real, upper_bound
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.mwigo import MWIGO


class Lemma6(Result):
    r"""Covering number of an attention head.

    For sums of **row** norms, n = N d_s points and half-diameter rho (T5 in docs/proofs/covers.md, Lemma E.1 of Trauger
    and Tewari); the scalar class adds w_O.

    Printed: log N <~ BX^2 (V21^(2/3) + (A21 V2)^(2/3))^3/eps^2 log(N ds)
    .. math:: \log N\lesssim B_X^2\frac{(V_{21}^{2/3}+(A_{21}V_2)^{2/3})^3}{\varepsilon^2}\log(Nd_s)
    Quoted: \lesssim B_X^2 \cdot \frac{\left( \left( \|\mathbf{W}_V^0\|_{2,1} + B_V \right)^{\frac{2}{3}} + \left(
    \left( \frac{(\|\mathbf{W}_K^0\|_{1,2} + B_K)(\|\mathbf{W}_Q^0\|_{2,1} + B_Q)}{\sqrt{d_m}} \right)
    (\|\mathbf{W}_V^0\|_2 + b_V) \right)^{\frac{2}{3}} \right)^3}{\epsilon^2} \cdot \log(N d_s)
    Sound: head: (C_V^(1/3) + C_A^(1/3) (V2 rho^2)^(2/3))^3/eps^2, C_V = (V21 BX)^2 t(dm, N ds), C_A = (A21 BX)^2
    t(d, N ds), t(k,n) = min_h [ln(k+1) + h ln 2 + (1+1/h) ln(2n+1)], row norms; scalar: sensitivities times eta_O,
    plus w_O with (eta_O V2 BX)^2 kappa(1, dm); exact: the head on the engine, the smallest covers of each
    weight, best split of the radius, w_O as in scalar; engine: the whole network on the engine.
    .. math:: \log N \le \bigl(C_V^{1/3}+C_A^{1/3}(V_2\rho^2)^{2/3}\bigr)^3/\varepsilon^2,\quad
       C_V=(V_{21}B_X)^2t(d_m,n),\ C_A=(A_{21}B_X)^2t(d,n)
    Because: the score term lacks the squared token norm (shattering), and w_O is not covered at all
    Assumes:
    - the norms are fixed in advance
    - scores are divided by sqrt(d_m), as in the model
    Defects:
    - The class contains w_O, the bound does not.
    - The score term misses rho^2 <= BX^2: tokens (b/sqrt 3)(+-e_j +- e_z + e_c) and A = s e_c^T shatter 1000 points
      at BX = 97.4, which needs 693, where 164 is printed.
    - The class is written without 1/sqrt(d_m) inside the softmax.
    - The norm is the sum of column norms; row norms are right.
    - BX is called both a bound on token norms and a number below ||X||_F.
    """

    paper, place = MWIGO, "Lemma 6"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+BX +V21 +V2 +A21 -eps +n +ds +d +dm +rho"

    BX: float = real("bound on the l2 norm of every token", symbol="B_X")
    V21: float = real("bound on the sum of the row norms of W_V, ||W_V^T||_{2,1}", example=2)
    V2: float = real("bound on the spectral norm of W_V")
    A21: float = real("bound on the sum of the row norms of W_K^T W_Q/sqrt(d_m)", example=3)
    eps: float = real("radius of the cover", example=0.5, symbol="ε")
    n: int = count("sample size", example=100, aliases=("N", "m"))
    ds: int = count("sequence length", symbol="d_s")
    d: int = count("token dimension", example=8)
    dm: int = count("model dimension", example=8, symbol="d_m")
    rho: float = real("half the diameter of the token set", low_open=False, factory=derived("BX", lambda x: x.BX))
    eta_O: float | None = real("bound on ||w_O||_2, for the scalar class", default=None, otherwise="no readout")

    def printed(self) -> Variants:
        total = quadratic_total((self.V21 * self.V21, self.A21 * self.A21), (1.0, self.V2))
        return {"value": printed_value(self.BX * self.BX * total / self.eps / self.eps * math.log(self.n * self.ds))}

    def sound(self) -> Variants:
        points = self.n * self.ds
        constants = [
            self.V21 * self.BX * (self.V21 * self.BX) * rows_two_one(self.V21, self.dm, points).quadratic,
            self.A21 * self.BX * (self.A21 * self.BX) * rows_two_one(self.A21, self.d, points).quadratic,
        ]
        betas = [1.0, self.V2 * weight_sensitivity(min(self.rho, self.BX))]
        closed = quadratic_total(constants, betas) / self.eps / self.eps
        if self.eta_O is None:
            exact = self.head().log_size(self.eps)
            return {"head": upper_bound(closed, note="without w_O"), "exact": upper_bound(exact)}
        # Hat on w_O: |w h - w_hat h_hat| <= |(w - w_hat) h| + eta_O ||h - h_hat||, ||h|| <= min(V2, V21) BX.
        hidden = min(self.V2, self.V21) * self.BX
        read = smallest(dual_sudakov(self.eta_O, 1, self.dm), volumetric(self.eta_O, self.dm)).scaled(hidden)
        scalar = quadratic_total([*constants, read.constant], [*(self.eta_O * beta for beta in betas), 1.0])
        return {
            "head": upper_bound(closed, bounds=Quantity.CONSTANT, note="without w_O"),
            "scalar": upper_bound(scalar / self.eps / self.eps, note="with w_O"),
            "exact": upper_bound(self._with_readout(read, self.eta_O)),
            "engine": upper_bound(self.network(self.eta_O).log_size(self.eps)),
        }

    def head(self) -> networks.Analysis:
        """The head on the engine: row norms have external covers, of the tokens of a sample."""
        return _head(self._class()).on_samples(self.n)

    def network(self, norm: float) -> networks.Analysis:
        """The scalar class on the engine, ||w_O|| <= norm: covers of row norms at half the radius, which are proper."""
        return _scalar(self._class(), norm).on_samples(self.n)

    def _class(self) -> _Class:
        return _Class(self.d, self.dm, self.ds, self.BX, min(self.rho, self.BX), self.V21, self.V2, self.A21)

    def _with_readout(self, read: Cover, norm: float) -> float:
        """The engine takes errors at hatted inputs, which have no bound here; w_O takes its own at the others."""
        size = networks.magnitude.size
        if size(norm) * size(min(self.V2, self.V21)) * size(self.BX) <= size(self.eps):
            return 0.0  # zero is near every network
        parts = [replace(term, ln_beta=term.ln_beta + math.log(norm)) for term in self.head().terms]
        return network_cover([*parts, Term("w_O", read, 0.0)]).log_size(self.eps)


class _Class(NamedTuple):
    """What the class is made of, whatever the sample."""

    d: int
    dm: int
    ds: int
    BX: float
    rho: float
    V21: float
    V2: float
    A21: float

    def attention(self) -> networks.Node:
        z = networks.tokens(self.d, self.BX, positions=self.ds, half_diameter=self.rho)
        value = networks.Weight("W_V", (self.dm, self.d), rows_two_one=self.V21, spectral=self.V2)
        scores = networks.Weight("A", (self.d, self.d), rows_two_one=self.A21)
        return networks.attention(z, networks.Head(value=value, score=scores))


@functools.lru_cache(maxsize=64)  # mutants: caches
def _head(members: _Class) -> networks.Analysis:
    return networks.analyse(members.attention(), proper=False)


@functools.lru_cache(maxsize=64)  # mutants: caches
def _scalar(members: _Class, norm: float) -> networks.Analysis:
    read = networks.Weight("w_O", (1, members.dm), frobenius=norm)
    return networks.analyse(networks.readout(networks.mean_pool(members.attention()), read))
