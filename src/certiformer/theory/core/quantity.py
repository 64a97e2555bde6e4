"""What a number bounds. Different quantities never share an axis without saying so."""

from __future__ import annotations

from enum import Enum


class Direction(Enum):
    """Whether a sound value stands above or below the quantity it bounds."""

    UPPER = "upper"
    LOWER = "lower"
    NEITHER = "neither"


class Quantity(Enum):
    """The quantities of the five papers and of the certificates."""

    LOG_COVERING_NUMBER = "log covering number"
    COVER_RADIUS = "cover radius"
    APPROXIMATION_ERROR = "approximation error"
    RADEMACHER_COMPLEXITY = "Rademacher complexity"
    OFFSET_COMPLEXITY = "offset Rademacher complexity"
    GAP = "generalization gap"
    RISK = "risk"
    EXCESS_RISK = "excess risk"
    EXCESS_RISK_HP = "excess risk, with probability 1 - eta"
    EXCESS_OVER_CLASS = "excess over the best of the class"
    TRAINING_LOSS = "training loss"
    STABILITY = "stability"
    OUTPUT_CHANGE = "change of the output"
    LIPSCHITZ_CONSTANT = "Lipschitz constant"
    SMOOTHNESS = "bound on derivatives"
    NTK_MARGIN = "NTK margin"
    MODEL_MARGIN = "margin of the model's output"
    TAIL_PROBABILITY = "tail probability"
    LINEARIZATION_ERROR = "linearization error"
    WIDTH = "width or heads needed"
    UNION_COST = "cost of a union bound (nats)"
    MEAN_ESTIMATION_ERROR = "error of a mean estimate"
    CONSTANT = "constant"

    @property
    def direction(self) -> Direction:
        if self in (Quantity.NTK_MARGIN, Quantity.MODEL_MARGIN):
            return Direction.LOWER
        return Direction.NEITHER if self is Quantity.CONSTANT else Direction.UPPER
