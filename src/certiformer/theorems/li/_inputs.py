"""The inputs that the theorems of the paper share, in the paper's symbols."""

from __future__ import annotations

NORMALISATION_NOTE = "normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi"
A_PRIORI = "norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)"
ERM = "the predictor minimises the empirical risk over the whole class (else add the optimisation error)"
CLASS_NOTE = "no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK"
