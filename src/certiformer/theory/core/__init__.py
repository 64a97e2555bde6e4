"""The few types everybody knows: what a result is, what a bound is, what was checked."""

from certiformer.theory.core.bound import Bound, lower_bound, printed_value, side_number, upper_bound
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.hypothesis import Hypothesis, assumed, stated, together, verified
from certiformer.theory.core.inputs import Input, choice, count, derived, flag, integers, real, reals
from certiformer.theory.core.quantity import Direction, Quantity
from certiformer.theory.core.registry import find, papers, register, results
from certiformer.theory.core.result import Evaluation, Paper, Result, Status, Variants

__all__ = [
    "Bound", "CertiformerError", "Direction", "Evaluation", "Hypothesis", "Input", "InputError", "Paper",
    "Quantity", "Result", "Status", "UnknownNameError", "Variants", "assumed", "choice", "count", "derived", "find",
    "flag", "integers", "lower_bound", "papers", "printed_value", "real", "reals", "register", "results",
    "side_number", "stated", "together", "upper_bound", "verified",
]  # fmt: skip
