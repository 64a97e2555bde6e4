"""`python -m benchmarks.coverage [REPETITIONS]`: how often certificates fail where the risk is known.

Valid procedures may fail in at most 5 % of the repetitions; broken ones have to be caught.
"""

from __future__ import annotations

import sys

from certiformer.auditing.coverage import DELTA, as_expected, laws, simulate


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{repetitions} repetitions each, delta = {DELTA}; p: probability of as many failures at rate delta")
    passed = True
    for id, name, law in laws():
        found = simulate(id, law, repetitions, seed=1)
        fine = as_expected(law, found)
        passed &= fine
        label = f"{id}: {name}" + ("" if law.valid else " (breaks a rule)")
        print(f"  {label:82s} failed {found.rate:7.4f}   p = {found.p_value:.2e}   {'ok' if fine else 'UNEXPECTED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
