"""`python -m benchmarks [NAME ...] [--json]`: ratios against plain PyTorch, one thread, CPU time."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from dataclasses import asdict

from benchmarks.compare import compare, one_thread


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="which benchmarks to run (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per side; the fastest counts")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print(
            "PyTorch 2.13.0 is missing. Install the `bench` extra: pip install 'certiformer[bench]' "
            "(PyPI's default Linux wheel brings CUDA; a CPU build is enough).",
            file=sys.stderr,
        )
        return 2
    one_thread()

    import jax
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    from benchmarks import arda, deora, mwigo, trauger

    cases = [*trauger.CASES, *arda.CASES, *mwigo.CASES, *deora.CASES]
    unknown = set(arguments.names) - {case.name for case in cases}
    if unknown:
        print(f"unknown benchmark {sorted(unknown)}; known: {[case.name for case in cases]}", file=sys.stderr)
        return 2
    header = f"JAX {jax.__version__} against PyTorch {torch.__version__}: 1 thread each, CPU seconds per step, float32"
    print(header, file=sys.stderr if arguments.json else sys.stdout)
    outcomes = []
    for case in cases:
        if arguments.names and case.name not in arguments.names:
            continue
        outcome = compare(case, arguments.rounds)
        outcomes.append(outcome)
        line = (
            f"{outcome.name:18s} {outcome.what:46s} {outcome.plain_seconds:9.4f} s {outcome.seconds:9.5f} s "
            f"{outcome.ratio:7.1f}x (at least {outcome.target:g}x)  losses apart {outcome.loss_difference_float32:.1e} "
            f"(float32) {outcome.loss_difference_float64:.1e} (float64)  {'ok' if outcome.passed else 'MISSED'}"
        )
        print(line, file=sys.stderr if arguments.json else sys.stdout, flush=True)
    if arguments.json:
        rows = [{**asdict(outcome), "passed": outcome.passed} for outcome in outcomes]
        print(json.dumps({"threads": 1, "jax": jax.__version__, "torch": torch.__version__, "results": rows}, indent=2))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
