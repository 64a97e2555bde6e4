"""Measurement that differentiates a model: its neural tangent kernel, and how far it is from its linearisation.

What needs no JAX, norms and margins and the profile of a checkpoint, is in `certiformer.theory.measure`.
"""
