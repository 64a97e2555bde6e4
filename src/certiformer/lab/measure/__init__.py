"""Measurement: numbers read off models and data, each saying whether it is exact, certified or an estimate.

Import from the module that measures: `measure.norms`, `measure.spectral`, `measure.margins`, `measure.tokens` and
`measure.profile` are plain numpy and load without JAX; what differentiates a model (`linearization`)
needs it.
"""
