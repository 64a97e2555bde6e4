"""Hypothesis runs the same examples every time in CI; locally it explores."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=25, database=None)
settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
