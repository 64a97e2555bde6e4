"""What Theorems 1 and 2 and Corollary 2 share: the explicit printed conditions, and the sound certificate."""

from __future__ import annotations

import math

from certiformer.theory.calculus.descent import Certificate, Refusal, Run, certify, least_count, log_stability, sturm
from certiformer.theory.core import Bound, Hypothesis, Quantity, assumed, upper_bound, verified
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.deora._attention import Attention, printed_beta3

MOST_HEADS = 10**30  # mutants: search-effort


def printed_heads(factor: float, D: float, b: float, T: int, R: float, d: int) -> float:
    """(factor beta3(b + 3D) D^2)^2: section 6.1 has factor 18, the stability argument of section 6.2 has 72."""
    root = factor * printed_beta3(b + 3.0 * D, T, R, d) * D * D
    return root * root


def printed_rho(D: float, b: float, H: float, T: int, R: float, d: int) -> float:
    """(2 sqrt(T) d R^3/sqrt(H) + T R^2/4) alpha^2, alpha = 3 sqrt(d) R^2 [3 sqrt(T) R^3 (3D + b) + 2 sqrt(T) R]."""
    alpha = 3.0 * math.sqrt(d) * R**2 * (3.0 * math.sqrt(T) * R**3 * (3.0 * D + b) + 2.0 * math.sqrt(T) * R)
    return (2.0 * math.sqrt(T) * d * R**3 / math.sqrt(H) + T * R**2 / 4.0) * alpha * alpha


def printed_step(run: Run, rho: float) -> float:
    """1 ^ 1/rho ^ D^2/(K L_t) ^ D^2/L_0."""
    square = run.D * run.D
    return min(1.0, 1.0 / rho, _ratio(square, run.K * run.Lt), _ratio(square, run.L0))


def printed_checks(run: Run, heads: float, H: int, R: float, eta_max: float) -> tuple[Hypothesis, ...]:
    return (
        verified("H at least the heads needed", heads <= H, heads),
        verified("eta <= 1 ^ 1/rho ^ D^2/(K Lt) ^ D^2/L0", run.eta <= eta_max, eta_max),
        verified("R >= 1 (Assumption 1)", R >= 1.0, R),
    )


def training_bound(model: Attention, run: Run) -> tuple[Bound, Certificate | None, tuple[Hypothesis, ...]]:
    """The bound on the average (and last) training loss, its certificate if there is one, and its hypotheses."""
    answer = certify(model.landscape, run)
    hypotheses: tuple[Hypothesis, ...]
    if isinstance(answer, Refusal):
        hypotheses = (verified(f"no certificate; it needs {answer.requires}", False, answer.measured),)
        return upper_bound(math.inf, hypotheses=hypotheses, trivial=run.L0, note="no certificate"), None, hypotheses
    hypotheses = (
        verified("the induction closes: s < pi/2, and eta beta2 <= 1 at every iterate", True, answer.angle),
        assumed("every token of the training data has norm at most R; D, b, b0, Lt, L0 are upper bounds"),
    )
    c = sturm(answer.angle)
    scale = 1.0 / (run.K * float(c.cotangent))
    terms = {
        "target": float(c.cosecant) * run.Lt / float(c.cotangent),
        "distance": run.D * run.D / (2.0 * run.eta) * scale,
        "curvature": float(c.deficit) * run.L0 * scale,
    }
    bound = upper_bound(answer.total / run.K, clip=run.L0, terms=terms, additive=True, hypotheses=hypotheses)
    return bound, answer, hypotheses


def stability_bounds(
    model: Attention, run: Run, certificate: Certificate | None, n: int, hypotheses: tuple[Hypothesis, ...]
) -> dict[str, Bound]:
    """The leave-one-out distance, and twice the Lipschitz constant times it."""
    if certificate is None:
        nothing = upper_bound(math.inf, hypotheses=hypotheses, note="no certificate")
        return {"gap": nothing, "stability": upper_bound(math.inf, hypotheses=hypotheses, bounds=Quantity.STABILITY)}
    ln_stability = log_stability(model.landscape, run, certificate, n)
    ln_gap = ln_stability + math.log(2.0 * float(model.landscape.lipschitz(certificate.B)))
    return {
        "gap": upper_bound(_exp(ln_gap), hypotheses=hypotheses, ln=ln_gap),
        "stability": upper_bound(_exp(ln_stability), hypotheses=hypotheses, ln=ln_stability, bounds=Quantity.STABILITY),
    }


def heads_needed(model: Attention, run: Run) -> Bound:
    """The least H for which the certificate exists, all else equal. More heads only help."""

    def exists(heads: int) -> bool:
        wider = Attention(model.T, model.R, heads, model.readout, model.G, model.C, model.Q)
        return isinstance(certify(wider.landscape, run), Certificate)

    found = least_count(exists, MOST_HEADS)
    if found is None:
        # In the limit of many heads only eta beta1^2/4 < 1 is left of the conditions.
        step = run.eta * model.Q * float(model.model_gradient(max(run.b, run.b0))) ** 2
        check = verified(
            "eta Q beta1(max(b, b0))^2 < 1: a step size that infinitely many heads would allow", False, step
        )
        return Bound(
            math.inf, hypotheses=(check,), bounds=Quantity.WIDTH, note="no number of heads is enough at this step size"
        )
    note = (
        "least H with a certificate; smaller than printed because beta3 "
        "here does not grow with d and the distance of the "
        "iterates is solved for instead of bounded by 3D"
    )
    return Bound(float(found), bounds=Quantity.WIDTH, note=note)


def _exp(ln: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(ln))


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0.0 else math.inf
