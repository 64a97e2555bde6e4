"""The mathematics: what is stated, what proofs are made of, networks as values, the papers' theorems."""
