"""How hypothesis looks for examples: the same ones every time, others every time, or many."""

import os

from hypothesis import HealthCheck, settings

PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("fixed", derandomize=True, max_examples=25, **PATIENT)
settings.register_profile("random", max_examples=15, print_blob=True, **PATIENT)
settings.register_profile("deep", max_examples=1000, print_blob=True, **PATIENT)
settings.register_profile("default", max_examples=50, **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
