"""Numbers read off weights, tokens and outputs, in plain NumPy: what is certified and what is of a sample."""
