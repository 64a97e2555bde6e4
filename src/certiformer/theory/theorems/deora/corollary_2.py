from __future__ import annotations

import math
from dataclasses import replace

from certiformer.theory.calculus.descent import Certificate, Run, certify, least_count
from certiformer.theory.core import Bound, Quantity, Status, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.hypothesis import Hypothesis, assumed, verified
from certiformer.theory.core.inputs import count, real
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.deora._attention import Attention
from certiformer.theory.theorems.deora._realizability import initial_loss, least_multiple, spread
from certiformer.theory.theorems.deora._setting import GoodStart, Sampled, Tokens
from certiformer.theory.theorems.deora._training import MOST_HEADS, stability_bounds, training_bound

_TARGETS = 26  # mutants: search-effort


def _nothing(start_loss: float, hypotheses: tuple[Hypothesis, ...]) -> dict[str, Bound]:
    missing = (verified("some lambda >= 0 reaches the target's loss: enough heads for this margin", False),)
    return {
        "gap": upper_bound(math.inf, hypotheses=(*missing, *hypotheses), note="no certificate"),
        "stability": upper_bound(math.inf, hypotheses=(*missing, *hypotheses), bounds=Quantity.STABILITY),
        "train": upper_bound(math.inf, hypotheses=missing, bounds=Quantity.TRAINING_LOSS, trivial=start_loss),
    }


def _with(train: Bound, hypotheses: tuple[Hypothesis, ...]) -> Bound:
    return replace(train, hypotheses=(*train.hypotheses, *hypotheses), bounds=Quantity.TRAINING_LOSS)


def _least(candidates: list[dict[str, Bound]], name: str) -> Bound:
    return min((bounds[name] for bounds in candidates), key=lambda bound: bound.value)


class Corollary2(GoodStart, Tokens, Sampled):
    r"""Training loss and gap from a good initialization.

    The target theta_0 + lambda theta_* of Assumption 2 (loss 1/K, distance sqrt2 lambda, heads of norm at most B2 +
    lambda ninf) in Theorems 1 and 2. `train_opt`, `gap_opt` choose the target's loss instead of 1/K.

    Printed: L(theta_K) <= 2/K + 5 (2 BPhi + log K)^2/(4 gamma^2 eta K); E[gap] <= 17 (2 BPhi + log K)^2/(gamma^2
    eta n), if sqrt(H) >~ d sqrt(T) R^5 B2^2 g0^3, g0 = (2 BPhi + log K)/gamma, and eta is small enough
    .. math:: \hat L(\theta_K)\le\frac2K+\frac{5(2B_\Phi+\log K)^2}{4\gamma^2\eta K},\quad E[L-\hat
       L]\le\frac{17(2B_\Phi+\log K)^2}{\gamma^2\eta n}
    Sound: deora.thm1 and deora.thm2 at the target of deora.ass2: D = sqrt(2) lambda, b = B2 + lambda ninf, b0 = B2,
    Lt = 1/K, L0 = log(1 + e^BPhi), lambda >= 0 least with -BPhi + lambda gamma - lambda^2 beta3(b)/sqrt(H) >=
    -log(expm1(1/K)); train_opt, gap_opt: the best Lt
    .. math:: D=\sqrt 2\lambda,\ b=B_2+\lambda n_\infty,\ b_0=B_2,\ L_t=\tfrac{1}{K};\quad
       -B_\Phi+\lambda\gamma-\frac{\lambda^2\beta_3(b)}{\sqrt H}\ge-\log\bigl(e^{1/K}-1\bigr)
    Because: the realizability behind it lacks a factor sqrt 2 (deora.ass2); constants of the conditions are hidden
    Assumes:
    - P1-P3 of Definition 1; for the gap they hold for almost every training set
    - theta_0 (with its first phase) is independent of the n samples
    Defects:
    - theta_0 + lambda theta_* is at distance sqrt(2) lambda, so with the paper's own constants 5/4 becomes 5/2 and
      17 becomes 26.
    - rho(K) omits B2 and a term in T^2; the condition on H assumes B2, g0 >= 1 and a small max_h ||theta_*,h||,
      which P3 does not bound.
    - The limit 4 BPhi^2/(gamma^2 log(1 + e^BPhi)) on eta vanishes for the zero start, which is the best one.
    """

    place = "Corollary 2"
    bounds, status = Quantity.GAP, Status.UNPROVEN
    monotone = "-n"

    K: int = count("gradient steps, fixed in advance", example=100)
    eta: float = real("step size", example=0.5, symbol="η")
    H: int = count("heads", example=1_000_000)
    n: int = count("sample size", example=1000, aliases=("m", "N"))
    L0: float | None = real(
        "training loss at the start", low_open=False, example=0.69, default=None, otherwise="log(1 + e^BPhi)"
    )
    d: int | None = count(
        "token dimension (printed heads only)", example=3, default=None, otherwise="heads not evaluated"
    )

    def printed(self) -> Variants:
        g0 = (2.0 * self.BPhi + math.log(self.K)) / self.gamma
        limit = min(1.0, 4.0 * self.BPhi * self.BPhi / (self.gamma * self.gamma * initial_loss(self.BPhi)))
        hypotheses = (
            verified("B2, BPhi >= 1 (P1, P2)", min(self.B2, self.BPhi) >= 1.0, min(self.B2, self.BPhi)),
            verified("eta <= 1 ^ 4 BPhi^2/(gamma^2 log(1 + e^BPhi))", self.eta <= limit, limit),
            assumed("eta <= 1/rho(K), rho(K) of order d^{3/2} T^{3/2} R^13 g0^4 with a constant that is not given"),
        )
        variants = {
            "train": printed_value(
                2.0 / self.K + 5.0 * g0 * g0 / (4.0 * self.eta * self.K),
                hypotheses=hypotheses,
                bounds=Quantity.TRAINING_LOSS,
            ),
            "gap": printed_value(
                17.0 * g0 * g0 / (self.eta * self.n),
                hypotheses=(*hypotheses, *self.sampling),
            ),
            "g0": side_number(g0, "distance of the target as printed"),
        }
        if self.d is not None:
            root = self.d * math.sqrt(self.T) * self.R**5 * self.B2 * self.B2 * g0 * g0 * g0
            variants["H_needed"] = printed_value(
                root * root, bounds=Quantity.WIDTH, note="constant 1 where none is given"
            )
        return variants

    def sound(self) -> Variants:
        start_loss = initial_loss(self.BPhi) if self.L0 is None else self.L0
        sampling = self.sampling

        def run_for(model: Attention, loss: float) -> tuple[float, Run] | None:
            """The multiple of theta_* and the run against theta_0 + lambda theta_*."""
            width = spread(self.ninf, self.even, model.H)
            multiple = least_multiple(model, self.gamma, self.BPhi, self.B2, width, loss)
            if multiple is None:
                return None
            return multiple, Run(
                math.sqrt(2.0) * multiple, self.B2 + multiple * width, self.B2, loss, start_loss, self.K, self.eta
            )

        def bounds_for(loss: float) -> tuple[dict[str, Bound], float]:
            model = Attention(self.T, self.R, self.H)
            target = run_for(model, loss)
            if target is None:
                return _nothing(start_loss, sampling), math.inf
            multiple, run = target
            good = (
                verified("some lambda >= 0 reaches the target's loss", True, multiple),
                assumed("P1-P3 of Definition 1 hold with these numbers"),
            )
            train, certificate, hypotheses = training_bound(model, run)
            bounds = stability_bounds(model, run, certificate, self.n, (*hypotheses, *good, *sampling))
            bounds["train"] = _with(train, good)
            return bounds, multiple

        def exists(heads: int) -> bool:
            model = Attention(self.T, self.R, heads)
            target = run_for(model, 1.0 / self.K)
            return target is not None and isinstance(certify(model.landscape, target[1]), Certificate)

        bounds, multiple = bounds_for(1.0 / self.K)  # mutants: search-effort
        found = least_count(exists, MOST_HEADS)
        # The trade-off runs from a far target of tiny loss to theta_0 itself.
        losses = np.geomspace(0.01 / self.K, max(start_loss, 1.0 / self.K), _TARGETS)  # mutants: search-effort
        candidates = [bounds, *(bounds_for(float(loss))[0] for loss in losses)]
        return {
            "gap": bounds["gap"],
            "gap_opt": _least(candidates, "gap"),
            "train": bounds["train"],
            "train_opt": _least(candidates, "train"),
            "stability": bounds["stability"],
            "lambda": side_number(multiple, "multiple of theta_* that reaches the loss 1/K"),
            "H_needed": Bound(
                math.inf if found is None else float(found),
                bounds=Quantity.WIDTH,
                note="least H with a certificate for the target of loss 1/K, all else equal",
            ),
        }
