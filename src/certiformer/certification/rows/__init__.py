"""Evidence at its share of delta, and the papers' results at this model: one row each."""
