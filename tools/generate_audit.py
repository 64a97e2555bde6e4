"""Run the audit and write what it found into docs/audit.md and docs/audit.svg, and into build/audit.json for the site.

The same seed and budget give the same verdicts on any machine: the page changes only when a formula or an attack does.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

from certiformer.auditing import audit_report, runner
from certiformer.auditing.attack import LEAST_POINTS, VERSIONS, Verdict
from certiformer.report.figure import save

ROOT = Path(__file__).resolve().parents[1]


def number(value: float | None) -> str:
    if value is None:
        return ""
    return "inf" if math.isinf(value) else f"{value:.3g}"


def cell(verdict: Verdict | None) -> list[str]:
    if verdict is None:
        return ["-", ""]
    word = f"**{verdict.outcome}**" if verdict.outcome == "refuted" else verdict.outcome
    return [word, number(verdict.ratio)]


def table(audit: runner.Audit) -> str:
    lines = ["| claim | printed | ratio | sound | ratio | points |", "|---|---|---|---|---|---|"]
    for id, verdicts in audit_report.pairs(audit):
        cells = [entry for version in VERSIONS for entry in cell(verdicts.get(version))]
        points = sum(verdict.attacks for verdict in verdicts.values())
        lines.append(f"| `{id}` | {' | '.join(cells)} | {points or ''} |")
    return "\n".join(lines)


def counterexamples(audit: runner.Audit) -> str:
    lines = ["| claim | attained | bound | found by | instance |", "|---|---|---|---|---|"]
    for verdict in audit.verdicts:
        if verdict.counterexample is not None:
            data = json.dumps(rounded(verdict.counterexample.data))
            shown = f"`{data}`" if len(data) <= 90 else "see `--json`"
            numbers = f"{number(verdict.attained)} | {number(verdict.bound)}"
            lines.append(f"| `{verdict.claim.id}` | {numbers} | {verdict.why} | {shown} |")
    return "\n".join(lines)


def rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def reasons(audit: runner.Audit) -> str:
    lines = ["| claim | version | why not |", "|---|---|---|"]
    lines += [
        f"| `{verdict.claim.id}` | {verdict.claim.version} | {verdict.why} |"
        for verdict in audit.verdicts
        if verdict.outcome == "not attackable"
    ]
    return "\n".join(lines)


def page(audit: runner.Audit) -> str:
    return f"""# The audit

`certiformer audit` takes every claim, as printed and in its sound form, and tries to break it: gradient ascent with
many restarts, random search and hill climbing, enumeration of tiny classes, parametric families with exact answers.
This page is the output of `python tools/generate_audit.py --seed {audit.seed} --budget {audit.budget:g}`.

- **refuted**: an instance attains more than the claim allows. It is measured twice: by the search, and again from its
  data in plain numpy. Every counterexample comes with a command that repeats the second measurement.
- **survived**: at least {LEAST_POINTS} points were tried (of a certificate's procedure, run from end to end, at least
  100); the ratio says how much of the bound the worst of them attains. A ratio near 1 means that the bound cannot be
  improved (there); a small one, that the attack or the bound is loose. It is no proof.
- **not attackable**: the statement is not a number that an instance could contradict; the last table says why.

Printed values whose constants are hidden in O() are multiplied by more than their proofs would need before they are
called refuted; "found by" says by how much. For lower bounds the ratio is bound/attained.

{audit_report.summary(audit)}.

![attained against bound](audit.svg)

{table(audit)}

## Counterexamples

{counterexamples(audit)}

## What is not attacked, and why

{reasons(audit)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=runner.BUDGET)
    options = parser.parse_args()
    audit = runner.run(seed=options.seed, budget=options.budget)
    (ROOT / "docs" / "audit.md").write_text(page(audit))
    save(audit_report.audit_figure(audit), ROOT / "docs" / "audit.svg")
    document = ROOT / "build" / "audit.json"
    document.parent.mkdir(exist_ok=True)
    document.write_text(json.dumps(audit.as_json(), allow_nan=False))
    print(f"{audit_report.summary(audit)}; {audit.seconds:.0f} s")


if __name__ == "__main__":
    main()
