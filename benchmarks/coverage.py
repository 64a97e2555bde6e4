"""`python -m benchmarks.coverage [REPETITIONS]`: how often certificates fail where the risk is known.

Valid procedures may fail in at most 5 % of the repetitions; broken ones have to be caught.
"""

from __future__ import annotations

import sys

from certiformer.certification.coverage import BROKEN, DELTA, VALID, run

CAUGHT = 1e-6
SUSPICIOUS = 1e-3


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{repetitions} repetitions each, delta = {DELTA}; p: probability of as many failures at rate delta")
    passed = True
    for title, experiments, good in (
        ("valid", VALID, lambda p: p > SUSPICIOUS),
        ("broken on purpose", BROKEN, lambda p: p < CAUGHT),
    ):
        print(title)
        for name, experiment in experiments.items():
            found = run(experiment, repetitions, seed=1)
            fine = good(found.p_value)
            passed &= fine
            print(f"  {name:32s} failed {found.rate:7.4f}   p = {found.p_value:.2e}   {'ok' if fine else 'UNEXPECTED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
