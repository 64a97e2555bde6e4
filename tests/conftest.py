"""How hypothesis looks for examples: the same ones every time, others every time, or many.

Two workers share the suite: tests of a file with a fixture of its own go to one of them, so that it is made once.
"""

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("fixed", derandomize=True, max_examples=25, **PATIENT)
settings.register_profile("random", max_examples=8, print_blob=True, **PATIENT)
settings.register_profile("deep", max_examples=1000, print_blob=True, **PATIENT)
settings.register_profile("default", max_examples=50, **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@cache
def _has_fixture_of_its_own(path: Path) -> bool:
    return 'scope="module"' in path.read_text(encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _has_fixture_of_its_own(item.path):
            item.add_marker(pytest.mark.xdist_group(item.path.name))
