"""`python -m benchmarks.certificates [--seeds 0 1 2 3 4] [--majority]`: the demo's certificates, alone and shared.

alone: at delta = 0.05 by itself. shared: at its part of delta in the demo's report. Beside them what the previous
release reported and what was asked for. `--seeds` trains the compression certificate anew (a minute or two
each); `--majority` certifies sparse majority as well, and writes reports with their predictors to `--out DIR`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from certiformer.certification.api import certify
from certiformer.certification.pipeline import build
from certiformer.lab.recipes import mnist, sparse_majority
from certiformer.theory.core import find

DELTA = 0.05
PREVIOUS = {
    "holdout": ("shared", 0.0105),
    "occam": ("shared", 0.0352),
    "pacbayes.single": ("shared", 0.0142),
    "progressive": ("shared", 0.0130),
}
WANTED = {
    "holdout": ("shared", 0.009),
    "occam": ("alone", 0.014),
    "cover.coordinates": ("alone", 0.025),
    "cover.soft": ("alone", 0.023),
    "cover.local": ("alone", 0.0195),
    "pacbayes.single": ("shared", 0.0142),
    "progressive": ("shared", 0.0130),
    "compression": ("alone", 0.0095),
}
MAJORITY = {20: 0.0175, 100: 0.057}


def alone(record) -> float:  # type: ignore[no-untyped-def]
    """The certificate with all of delta for itself."""
    found = find(record.id).evaluate(record.inputs(DELTA / record.models))
    return found.sound[found.best or "value"].value


def demo() -> None:
    found, report = mnist.findings(), certify(delta=DELTA)
    print(f"{'certificate':20s}{'alone':>10s}{'shared':>10s}{'previous':>18s}{'asked for':>18s}   subject")
    for record in found.evidence:
        if record.id == "betting":
            continue
        words = [
            f"{table[record.id][1]:.2%} {table[record.id][0]}" if record.id in table else "-"
            for table in (PREVIOUS, WANTED)
        ]
        shared = report[record.id].value
        print(f"{record.id:20s}{alone(record):10.3%}{shared:10.3%}{words[0]:>18s}{words[1]:>18s}   {record.subject}")


def seeds(chosen: list[int]) -> None:
    settings = mnist.Settings()
    part = mnist.parts(settings, mnist.SHIPPED_SEED).everything
    values = []
    for seed in chosen:
        began = time.process_time()
        (record,) = mnist.picker(settings, seed).certify(mnist.start(settings, seed), *part, 2)
        values.append(alone(record))
        print(f"seed {seed}: {values[-1]:.3%} ({record.k} + {record.left}), {time.process_time() - began:.0f} s")
    print(f"median of {len(values)} seeds: {sorted(values)[len(values) // 2]:.3%}")


def majority(out: Path | None) -> None:
    for tokens, wanted in MAJORITY.items():
        found = sparse_majority.findings(sparse_majority.SETTINGS[tokens], seed=7)
        values = {record.id: alone(record) for record in found.evidence}
        soft, hard = values["cover.soft"], values["margin"]
        if out is not None:
            page, _ = build(found, DELTA).write(out / f"majority-{tokens}")
            print(f"wrote {page}: certiformer verify {page.with_name('report.json')}")
        print(f"sparse majority T = {tokens}: soft cover {soft:.3%} (asked for {wanted:.2%}), M {hard:.3%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    parser.add_argument("--majority", action="store_true")
    parser.add_argument("--out", type=Path, metavar="DIR", help="with --majority: reports and predictors go there")
    given = parser.parse_args()
    demo()
    if given.seeds:
        seeds(given.seeds)
    if given.majority:
        majority(given.out)


if __name__ == "__main__":
    main()
