"""What may be said from an evaluation: bounded losses, pairs, streams, abstention, and how many labels to collect.

    mean_limits        the mean of any loss in a known range, of rows or of groups
    paired_limits      the difference of two models on the same items; `sign_test` for its direction
    plan_errors        how many labels for "at most 2 %, with confidence 95 %"; `plan_pairs` for a difference
    ConfidenceSequence limits that may be looked at after every example
    Monitor            an alarm that is false at most with probability delta, for ever
    choose_threshold   answer or abstain: the error among the answered, from the same held-out examples

numpy and scipy only. Statements, proofs and simulations: docs/evaluation.md, docs/proofs/evaluation.md.
"""

from certiformer.evaluation.mean import Limits, mean_limits, rate_limits
from certiformer.evaluation.monitor import Monitor
from certiformer.evaluation.pairs import SignTest, paired_limits, sign_test
from certiformer.evaluation.planning import (
    PairPlan,
    Plan,
    plan_errors,
    plan_pairs,
    success_curve,
)
from certiformer.evaluation.selection import Selection, choose_threshold
from certiformer.evaluation.sequence import ConfidenceSequence, anytime_rate_limits
from certiformer.evaluation.units import Units, units_of

__all__ = [
    "ConfidenceSequence", "Limits", "Monitor", "PairPlan", "Plan", "Selection", "SignTest", "Units",
    "anytime_rate_limits", "choose_threshold", "mean_limits", "paired_limits", "plan_errors", "plan_pairs",
    "rate_limits", "sign_test", "success_curve", "units_of",
]  # fmt: skip
