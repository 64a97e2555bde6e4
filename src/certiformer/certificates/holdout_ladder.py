"""L, the hold-out with a ledger: models made after looking at answers, the answers accounted for."""

from __future__ import annotations

from certiformer.certificates._evidence import CertificateBound
from certiformer.theory.calculus.ladder import adaptive_upper, bit_nats, round_nats
from certiformer.theory.core import Variants, count, derived, real, side_number, upper_bound
from certiformer.theory.core.errors import InputError


class HoldoutLadder(CertificateBound):
    r"""Hold-out with a ledger.

    The adaptive hold-out: models trained after looking at answers, each answer counted. After q answers of the Ladder
    ("better" or "not better"), B of them "better", with probability at least 1 - delta for all rounds t at once.

    .. math:: R(h_t) \le U\bigl(k, m, \delta\,w_t\,\pi\bigr), \quad -\ln\pi = \ln(q+1)+\ln\binom qB, \quad
              w_t = \tfrac1{t(t+1)}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats)}, nats = ln(q+1) + ln C(q,B) + ln t(t+1)
    .. math:: R(h_t)\le U(k,m,\delta w_t\prod_{i<t}\pi_i(a_i))
    Because: for people who look, and train again
    Assumes:
    - the analyst saw nothing of the hold-out but these answers
    - step, weights and answers were fixed before the hold-out was read
    """

    id = "holdout.ladder"
    place = "certificate L"
    monotone = "+errors -delta"
    proof = "docs/proofs/compression.md"

    errors: int = count("errors of the claimed model on the hold-out", low=0, example=28, aliases=("k",))
    n: int = count("hold-out examples", example=5000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    queries: int = count("answers given before the claimed model was handed in", low=0, example=63, aliases=("q",))
    improvements: int = count("how many of them said better", low=0, example=4, aliases=("B",))
    claim: int = count(
        "round of the claimed model",
        example=64,
        factory=derived("queries + 1: the round after the last answer", lambda x: x.queries + 1),
    )

    def sound(self) -> Variants:
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}")
        if self.claim <= self.queries:
            raise InputError(
                "claim",
                self.claim,
                f"a round after the {self.queries} answers",
                "Later answers are free: leave them out",
            )
        answers, choice = bit_nats(self.queries, self.improvements), round_nats(self.claim)
        terms = {"observed": self.errors / self.n, "nats for the answers": answers, "nats for the round": choice}
        value = adaptive_upper(self.errors, self.n, self.delta, answers + choice)
        return {
            "value": upper_bound(value, clip=1.0, terms=terms),
            "nats": side_number(answers + choice, "the price of the answers so far and of the round"),
        }
