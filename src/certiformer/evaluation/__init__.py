"""What may be said from an evaluation: bounded losses, pairs, streams, abstention, and how many labels to collect.

    mean_limits        the mean of any loss in a known range, of rows or of groups
    paired_limits      the difference of two models on the same items; `sign_test` for its direction
    plan_errors        how many labels for "at most 2 %, with confidence 95 %"; `plan_pairs` for a difference
    ConfidenceSequence limits that may be looked at after every example
    Monitor            an alarm that is false at most with probability delta, for ever
    choose_threshold   answer or abstain: the error among the answered, from the same held-out examples

numpy and scipy only. Statements, proofs and simulations: docs/evaluation.md, docs/proofs/evaluation.md.
"""

from certiformer.evaluation.mean import Limits as Limits
from certiformer.evaluation.mean import mean_limits as mean_limits
from certiformer.evaluation.monitor import Monitor as Monitor
from certiformer.evaluation.pairs import SignTest as SignTest
from certiformer.evaluation.pairs import paired_limits as paired_limits
from certiformer.evaluation.pairs import sign_test as sign_test
from certiformer.evaluation.planning import PairPlan as PairPlan
from certiformer.evaluation.planning import Plan as Plan
from certiformer.evaluation.planning import detectable_difference as detectable_difference
from certiformer.evaluation.planning import plan_errors as plan_errors
from certiformer.evaluation.planning import plan_pairs as plan_pairs
from certiformer.evaluation.planning import success_curve as success_curve
from certiformer.evaluation.rates import rate_limits as rate_limits
from certiformer.evaluation.selection import Selection as Selection
from certiformer.evaluation.selection import choose_threshold as choose_threshold
from certiformer.evaluation.sequence import ConfidenceSequence as ConfidenceSequence
from certiformer.evaluation.sequence import anytime_rate_limits as anytime_rate_limits
from certiformer.evaluation.units import Units as Units
from certiformer.evaluation.units import units_of as units_of
