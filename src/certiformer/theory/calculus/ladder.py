r"""Prices of an adaptive hold-out: the analyst trains again after every answer, and pays for what the answers told.

Given all that is not the hold-out, the models form a tree: a node is a sequence of answers, and carries one model.
Answer a after a prefix has a probability pi(a | prefix), and round t a weight w_t = 1/(t(t+1)), all written down before
the hold-out is read. With probability 1 - delta, for all rounds at once,

.. math:: R(h_t) \le U\bigl(k_t, m, \delta\, w_t \prod_{i<t} \pi_i(a_i)\bigr),

so model t costs ln 1/w_t + sum_{i<t} ln 1/pi_i(a_i) nats; its own answer and all later ones are free.
"""

from __future__ import annotations

import math

from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up


def round_nats(claim: int) -> float:
    """ln 1/w_t = ln(t(t+1)); the weights sum to one."""
    if claim < 1:
        raise InputError("claim", claim, "the number of a round, from 1 on")
    return math.log(claim) + math.log(claim + 1.0)


def bit_nats(queries: int, improvements: int) -> float:
    """q answers of the Ladder, B of them "better": ln(q+1) + ln C(q, B).

    By Laplace's rule: after t answers with B_t ones the next is a one with probability (B_t + 1)/(t + 2).
    """
    if not 0 <= improvements <= queries:
        raise InputError("improvements", improvements, f"a whole number in [0, {queries}], the number of queries")
    few = min(improvements, queries - improvements)
    return math.log(queries + 1.0) + math.fsum(math.log(queries - i) - math.log(few - i) for i in range(few))


def next_bit_nats(queries: int, improvements: int, better: bool) -> float:
    """What the answer after `queries` bits costs those who claim later; summed up it is `bit_nats`."""
    favourable = improvements + 1 if better else queries - improvements + 1
    return math.log(queries + 2.0) - math.log(favourable)


def value_nats(values: int) -> float:
    """One of `values` answers, all alike: ln b. An exact count among m examples has m + 1 of them."""
    if values < 1:
        raise InputError("values", values, "the number of possible answers, at least 1")
    return math.log(values)


def adaptive_upper(errors: int, n: int, delta: float, nats: float) -> float:
    """U(k, m, delta e^-nats)."""
    return binomial_upper(errors, n, math.log(delta) - up(nats))
