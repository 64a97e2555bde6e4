"""Inputs and hypotheses that the results on the shallow Transformer share."""

from __future__ import annotations

from certiformer.core import assumed

UNIT_BALL = assumed("every token and the query have norm at most 1")
SYMMETRIC = assumed(
    "symmetric initialisation: u_i ~ N(0, I), W_i with N(0, 1) entries, c_i = +-1, drawn in opposite pairs"
)
FIXED_DATA = assumed("inputs, labels and transportation map were fixed before, independently of, the initialisation")
REALISABLE = assumed("the labels are y = f*(X) with f* in F_nu")
NOT_SELECTED = assumed("the initialisation is the first one drawn: not re-drawn, not the best of several seeds")
ALGORITHM = assumed("every step is projected on Omega_rho, block by block; the loss is the mean of (f - y)^2")
