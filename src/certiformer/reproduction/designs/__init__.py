"""Experiments of our own design, for papers that print none we have: Li et al., Deora et al."""
