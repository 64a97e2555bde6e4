"""How hypothesis looks for examples: the same ones every time (or a few of them), others every time, or many.

Two workers share the suite: tests of a file with a fixture of its own go to one of them, so that it is made once.
"""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("fixed", derandomize=True, max_examples=25, **PATIENT)
settings.register_profile("few", derandomize=True, max_examples=5, **PATIENT)
settings.register_profile("random", max_examples=8, print_blob=True, **PATIENT)
settings.register_profile("deep", max_examples=1000, print_blob=True, **PATIENT)
settings.register_profile("default", max_examples=50, **PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Kernels compiled with older helpers are forgotten: Numba looks at the file of a kernel only."""
    kernels = Path(__file__).parents[1] / "src" / "certiformer" / "lab" / "training" / "kernels"
    helpers = [kernels / f"{name}.py" for name in ("_compile", "_vectors")]
    newest = max(helper.stat().st_mtime for helper in helpers)
    for kept in (kernels / "__pycache__").glob("*.nb[ci]"):
        with suppress(FileNotFoundError):  # another worker was quicker
            if kept.stat().st_mtime < newest:
                kept.unlink()


@cache
def _has_fixture_of_its_own(path: str) -> bool:
    return 'scope="module"' in Path(path).read_text(encoding="utf-8")


class ByFixture(LoadScopeScheduling):
    """Tests go out one by one, those of a file with a fixture of its own together."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if _has_fixture_of_its_own(path) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return ByFixture(config, log)
