r"""Lemma 3: from leave-one-out stability to the expected gap (Lei and Ying).

.. math:: E[L(\theta_K)-\hat L(\theta_K)]\le 2G\,E\Bigl[\frac1n\sum_i\|\theta_K-\theta_K^{-i}\|\Bigr]

Sound: the same, with G a Lipschitz constant of the loss along the segments between theta_K(S), theta_K(S without i) and
theta_K(S with i replaced), for almost every sample, and with a start that does not depend on the sample.
"""

from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, assumed, printed_value, real, upper_bound
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import ALMOST_SURE, INDEPENDENT, stability_checks


def printed(G: float, stability: float, independent: bool, almost_sure: bool) -> Variants:
    checks = stability_checks(independent, almost_sure)
    return {"value": printed_value(2.0 * G * stability, checks=checks)}


def sound(G: float, stability: float, independent: bool, almost_sure: bool) -> Variants:
    checks = (
        assumed(
            "G bounds the gradient of every sample's loss between the runs being compared; stability is an expectation"
        ),
        *stability_checks(independent, almost_sure),
    )
    return {"value": upper_bound(2.0 * G * stability, checks=checks)}


RESULT = Result(
    id="deora.lem3",
    title="Stability implies generalization in expectation",
    paper=DEORA,
    place="Lemma 3",
    bounds=Quantity.GAP,
    statement="E[gap] <= 2 G E[(1/n) sum_i ||theta_K - theta_K^{-i}||]",
    latex=r"E[L(\theta_K)-\hat L(\theta_K)]\le2G\,E\bigl[\tfrac1n\sum_i\|\theta_K-\theta_K^{-i}\|\bigr]",
    sound_statement="the same; G almost sure along the segments between the runs, the start independent of the sample",
    inputs=(
        real("G", "Lipschitz constant of every sample's loss on the way between the runs", low_open=False, example=2),
        real("stability", "expected average leave-one-out distance", low_open=False, example=0.1),
        INDEPENDENT,
        ALMOST_SURE,
    ),
    status=Status.TRUE,
    reason="true for an almost sure G and a start that does not depend on the sample",
    printed=printed,
    sound=sound,
    assumptions=("i.i.d. samples", "the algorithm is symmetric in the samples and starts independently of them"),
    defects=(
        "G must hold on the segments between the runs for almost every training set, not only at the iterates of one.",
        "Without a start that is independent of the sample, theta_K^{-i} still knows sample i and the lemma fails.",
    ),
    monotone={"G": 1, "stability": 1},
    proof="docs/proofs/deora.md",
)
