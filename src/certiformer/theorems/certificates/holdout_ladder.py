r"""L, the adaptive hold-out: models trained after looking at answers, the answers priced.

.. math:: R(h_t) \le U\bigl(k, m, \delta\,w_t\,\pi\bigr), \quad -\ln\pi = \ln(q+1)+\ln\binom qB,
          \quad w_t = \tfrac1{t(t+1)}

with probability at least 1 - delta for all rounds t at once, after q answers of the Ladder ("better" or "not better"),
B of them "better".
"""

from __future__ import annotations

from certiformer.calculus.ladder import adaptive_upper, bit_nats, round_nats
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, side_number, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(errors: int, n: int, delta: float, queries: int, improvements: int, claim: int | None) -> Variants:
    if errors > n:
        raise InputError("errors", errors, f"at most n = {n}")
    turn = queries + 1 if claim is None else claim
    if turn <= queries:
        raise InputError(
            "claim", turn, f"a round after the {queries} answers", "Later answers are free: leave them out"
        )
    answers, choice = bit_nats(queries, improvements), round_nats(turn)
    checks = (
        assumed("the analyst saw nothing of the hold-out but these answers"),
        assumed("step, weights and answers were fixed before the hold-out was read"),
    )
    terms = {"observed": errors / n, "nats for the answers": answers, "nats for the round": choice}
    value = adaptive_upper(errors, n, delta, answers + choice)
    return {
        "value": upper_bound(value, clip=1.0, checks=checks, terms=terms),
        "nats": side_number(answers + choice, "the price of the answers so far and of the round"),
    }


RESULT = Result(
    id="holdout.ladder",
    title="Hold-out with a ledger",
    paper=CERTIFICATES,
    place="certificate L",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(h_t)\le U(k,m,\delta w_t\prod_{i<t}\pi_i(a_i))",
    sound_statement=(
        "risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats)}, nats = ln(q+1) + ln C(q,B) + ln t(t+1)"
    ),
    inputs=(
        count("errors", "errors of the claimed model on the hold-out", low=0, example=28, aliases=("k",)),
        count("n", "hold-out examples", aliases=("m", "N"), example=5000),
        real("delta", "failure probability", high=1.0, example=0.05),
        count("queries", "answers given before the claimed model was handed in", low=0, example=63, aliases=("q",)),
        count("improvements", "how many of them said better", low=0, example=4, aliases=("B",)),
        count("claim", "round of the claimed model", optional=True, derived="queries + 1", example=64),
    ),
    status=Status.NONE,
    reason="for people who look, and train again",
    printed=None,
    sound=sound,
    monotone={"errors": 1, "delta": -1},
    proof="docs/proofs/compression.md",
)
