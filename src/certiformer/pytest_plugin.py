"""`@pytest.mark.certified(error=0.05)`: the cases of a parametrised test are the items of one gate (docs/gates.md).

A case that fails is counted, and reported as xfailed, also where it was expected to fail; the cases together pass, fail
or stay undecided. What was skipped, or never came to its call, is said. The mathematics is imported when there is
something to decide.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

KNOWN = ("error", "delta", "confidence")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("certiformer")
    group.addoption(
        "--certified-undecided",
        choices=("warn", "fail"),
        default="warn",
        help="What an undecided gate of @pytest.mark.certified does to the session.",
    )


def pytest_configure(config: pytest.Config) -> None:
    text = "certified(error, delta=0.05): the cases of this test are gated together at this error rate"
    config.addinivalue_line("markers", text)
    config.pluginmanager.register(_Gates(config), "certiformer gates")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a marker that says nothing, or something unknown, before any case is run."""
    for item in items:
        marker = item.get_closest_marker("certified")
        if marker is not None:
            _level(marker, item.nodeid)


def _level(marker: pytest.Mark, place: str) -> tuple[float, float]:
    """The threshold and delta of a marker."""
    from certiformer.evaluation._given import failure_probability, probability
    from certiformer.theory.core.errors import CertiformerError

    said = dict(marker.kwargs)
    if marker.args or "error" not in said or not set(said) <= set(KNOWN):
        raise pytest.UsageError(
            f"{place}: say @pytest.mark.certified(error=0.05), with delta or confidence if you like"
        )
    try:
        delta = failure_probability(said.get("delta"), said.get("confidence"))
        return probability("error", said["error"]), probability("2 delta", 2.0 * delta) / 2.0
    except (CertiformerError, TypeError) as error:
        raise pytest.UsageError(f"{place}: {error}") from error


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """A case that failed is an item that went wrong: the gate counts it, the session goes on."""
    report = (yield).get_result()
    marker = item.get_closest_marker("certified")
    if marker is None or report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    error, delta = _level(marker, item.nodeid)
    # An expected failure is a wrong answer, and an unexpected success a right one, whatever the session makes of them.
    left_out = report.when == "setup" or (report.skipped and not hasattr(report, "wasxfail"))
    wrong = None if left_out else call.excinfo is not None
    # Plain values: they travel from the workers of xdist to the one that decides.
    case = getattr(item, "callspec", None)
    test = item.nodeid if case is None else item.nodeid.removesuffix(f"[{case.id}]")
    report.certified = {"test": test, "error": error, "delta": delta, "wrong": wrong}
    if wrong and report.failed:
        report.outcome, report.wasxfail = "skipped", "counted as an error by the gate"


class _Gates:
    """What the cases did, by test, and the verdicts at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.strict = config.getoption("--certified-undecided") == "fail"
        self.worker = hasattr(config, "workerinput")
        self.cases: dict[tuple[str, float, float], dict[str, bool | None]] = {}
        self.crashed = False
        self.lines: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.crashed = self.crashed or report.when not in ("setup", "call", "teardown")  # a worker of xdist is gone
        told = getattr(report, "certified", None)
        if told is not None:
            cases = self.cases.setdefault((told["test"], told["error"], told["delta"]), {})
            # A case with several reports (subtests, a fixture that is tried again) is one item: wrong if any of it was.
            said = [one for one in (cases.get(report.nodeid), told["wrong"]) if one is not None]
            cases[report.nodeid] = any(said) if said else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.worker or not self.cases:
            return
        whole = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not self.crashed
        if not whole or session.shouldfail or session.shouldstop:
            self.lines.append(("undecided", "no verdict: the session was stopped, and not every case was run"))
            return
        for (test, error, delta), cases in self.cases.items():
            self.lines.append(_verdict(test, error, delta, list(cases.values())))
        bad = ("fail", "undecided") if self.strict else ("fail",)
        if exitstatus == pytest.ExitCode.OK and any(verdict in bad for verdict, _ in self.lines):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.lines and not self.worker:
            terminalreporter.section("certified")
            colours = {"pass": "green", "fail": "red", "undecided": "yellow"}
            for verdict, line in self.lines:
                terminalreporter.write_line(line, **{colours[verdict]: True})
                if verdict == "undecided":  # an outcome of its own, counted in the last line
                    counted = pytest.TestReport(line, ("", None, ""), {}, "passed", None, "call")
                    terminalreporter.stats.setdefault(verdict, []).append(counted)


def _verdict(test: str, error: float, delta: float, cases: list[bool | None]) -> tuple[str, str]:
    from certiformer.evaluation.gates import gate_rate, items_to_decide
    from certiformer.report.numbers import percent
    from certiformer.theory.core.report import confidence_text

    wrong = [one for one in cases if one is not None]
    errors, n, left_out = sum(wrong), len(wrong), len(cases) - len(wrong)
    if not n:
        return "undecided", f"UNDECIDED {test}: no case was run"
    found = gate_rate(errors, n, error, delta)
    says = {
        "pass": f"the error rate on new cases is at most {percent(error)}",
        "fail": f"the error rate on new cases is above {percent(error)}",
        "undecided": f"an error rate of at most {percent(error)} is neither shown nor refuted",
    }[found.verdict]
    more = ""
    if found.verdict == "undecided":
        needed = items_to_decide(errors / n, error, delta)
        more = "" if needed is None else f"; about {needed:,} new cases would decide, these not counted again"
    seen = f"{found.verdict.upper()} {test}: {errors} of {n} cases wrong, {says}"
    holds = "It holds if the cases are independent draws, chosen before the model was run on them"
    holds += f"; {left_out:,} more had no outcome, which must not depend on what the model said." if left_out else "."
    return found.verdict, f"{seen} (confidence {confidence_text(delta)}){more}. {holds}"
