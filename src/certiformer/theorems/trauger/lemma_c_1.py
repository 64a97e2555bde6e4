r"""Lemma C.1: softmax is Lipschitz from the sup norm to the l1 norm.

Printed:  .. math:: \|\mathrm{softmax}(a)-\mathrm{softmax}(b)\|_1 \le 2\|a-b\|_\infty

Sound, and exact (T1 in docs/proofs/covers.md):

.. math:: \|\mathrm{softmax}(a)-\mathrm{softmax}(b)\|_1 \le 2\tanh(\mathrm{osc}(a-b)/4) \le \|a-b\|_\infty,
          \quad \mathrm{osc}=\max-\min .
"""

from __future__ import annotations

import math

from certiformer.calculus.softmax import l1_change
from certiformer.core import InputError, Quantity, Result, Status, Variants, printed_value, reals, upper_bound
from certiformer.theorems.trauger import TRAUGER


def printed(a: tuple[float, ...], b: tuple[float, ...]) -> Variants:
    return {"value": printed_value(2 * max(map(abs, _difference(a, b))))}


def sound(a: tuple[float, ...], b: tuple[float, ...]) -> Variants:
    difference = _difference(a, b)
    return {
        "linf": upper_bound(max(map(abs, difference)), clip=2.0),
        "tanh": upper_bound(l1_change(max(difference) - min(difference)), clip=2.0),
    }


def _difference(a: tuple[float, ...], b: tuple[float, ...]) -> list[float]:
    if len(a) != len(b):
        raise InputError("b", b, f"as many scores as a, {len(a)}")
    return [x - y for x, y in zip(a, b, strict=True)]


RESULT = Result(
    id="trauger.lemC.1",
    title="Softmax is Lipschitz",
    paper=TRAUGER,
    place="Lemma C.1",
    bounds=Quantity.OUTPUT_CHANGE,
    statement="||softmax(a) - softmax(b)||_1 <= 2 ||a - b||_inf",
    latex=r"\|\mathrm{softmax}(\theta_1)-\mathrm{softmax}(\theta_2)\|_1\le2\|\theta_1-\theta_2\|_\infty",
    sound_statement="linf: ||a - b||_inf; tanh: 2 tanh(osc/4), osc = max(a-b) - min(a-b), attained; never above 2.",
    inputs=(
        reals("a", "scores", low=-math.inf, example=(1.0, 0.0, -1.0)),
        reals("b", "scores", low=-math.inf, example=(0.2, 0.5, -0.3)),
    ),
    status=Status.TRUE,
    reason="true; the constant 2 can be 1",
    printed=printed,
    sound=sound,
    defects=("Loose by exactly a factor of two: the constant 1 is exact.",),
    proof="docs/proofs/covers.md",
)
