"""Failure rates of every statement about evaluations, simulated as users call them: the table of docs/coverage.md.

python tools/generate_evaluation.py                 # 2,000 repetitions each; goes on where it was stopped
python tools/generate_evaluation.py --repetitions 200 --anew
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
PAGE, BEGIN, END = ROOT / "docs" / "coverage.md", "<!-- evaluation -->", "<!-- end of evaluation -->"
KEPT = ROOT / "out" / "evaluation-coverage.json"


def main() -> None:
    """Run what is missing, and write the table."""
    from evaluation import coverage

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--anew", action="store_true", help="forget what was simulated before")
    options = parser.parse_args()
    found = json.loads(KEPT.read_text()) if KEPT.exists() and not options.anew else {}
    KEPT.parent.mkdir(exist_ok=True)
    experiments = [(True, *item) for item in coverage.LONG.items()]
    experiments += [(False, *item) for item in coverage.BROKEN.items()]
    for valid, name, experiment in experiments:
        repetitions = options.repetitions if valid else options.repetitions // 10
        if found.get(name, {}).get("repetitions", 0) >= repetitions:
            continue
        begun = time.process_time()
        failures, p_value = coverage.judged(experiment, repetitions, seed=1)
        found[name] = {"valid": valid, "repetitions": repetitions, "failures": failures, "p": p_value}
        KEPT.write_text(json.dumps(found, indent=1))
        print(f"{name}: {failures} of {repetitions}, {time.process_time() - begun:.0f} s", flush=True)
    write({name: found[name] for _, name, _ in experiments}, coverage.DELTA)


def write(found: dict[str, dict[str, float]], delta: float) -> None:
    """The table between the markers of the page."""
    lines = [
        f"Claims at delta = {delta:g} that were false, by `python tools/generate_evaluation.py` (seed 1):",
        "",
        "| claim | false | of | rate |",
        "|---|---|---|---|",
    ]
    lines += [line(name, one) for name, one in found.items() if one["valid"]]
    lines += ["", "Procedures that break a rule, put to the same test:", ""]
    lines += ["| procedure | false | of | rate |", "|---|---|---|---|"]
    lines += [line(name, one) for name, one in found.items() if not one["valid"]]
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


def line(name: str, one: dict[str, float]) -> str:
    """A row of the table."""
    return f"| {name} | {one['failures']} | {one['repetitions']:,} | {one['failures'] / one['repetitions']:.3f} |"


if __name__ == "__main__":
    main()
