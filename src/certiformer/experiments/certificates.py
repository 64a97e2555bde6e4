"""Which certificate wins at which n: on zeros and ones, and on sparse majority, next to what they bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.experiments import _certificate_runs
from certiformer.experiments._certificate_cells import LETTERS, OTHERS, TITLES, TRIVIAL, Cell, cells
from certiformer.experiments._certificate_figures import cross_entropy_plot, risk_plot
from certiformer.experiments.statistics import mean_interval, power_law
from certiformer.experiments.study import Analysis, Finding, Scale, Study
from certiformer.experiments.trend import Notes
from certiformer.experiments.verdicts import bound_frequency
from certiformer.sweep import Experiment, Row, Shortened, two_lengths
from certiformer.sweep.run import Config

DELTA = 0.05
ERRORS = 3.0
"""So many standard errors below an estimate of the truth, a certificate is called wrong."""

Sizes = tuple[int, ...]
GRID: dict[Scale, dict[str, tuple[Sizes, int]]] = {
    "smoke": {"mnist": ((60,), 1), "sparse majority": ((100,), 1)},
    "quick": {
        "mnist": ((100, 300, 1000, 3000, 10_000), 5),
        "sparse majority": ((100, 300, 1000, 3000, 10_000, 30_000), 5),
    },
    "paper": {
        "mnist": ((100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000), 20),
        "sparse majority": ((100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000, 30_000, 100_000), 20),
    },
}
"""For each task the sizes of the sample, and the number of seeds."""
DEMO = {"encoder_steps": 3000, "head_steps": 400, "occam_steps": 9000, "occam_seeds": 2, "progressive_steps": 300}
SHORT = {"encoder_steps": 400, "head_steps": 400, "occam_steps": 2000, "occam_seeds": 1, "progressive_steps": 40}
TINY = {"encoder_steps": 20, "head_steps": 20, "occam_steps": 20, "occam_seeds": 1, "progressive_steps": 2}
MNIST: dict[Scale, dict[str, int]] = {"smoke": TINY, "quick": SHORT, "paper": DEMO}
"""How long the networks are trained: at the paper's scale as in the demo. Other settings are the demo's throughout."""
MAJORITY = {"tokens": 20, "restarts": 64, "match_steps": 3000, "posterior_noise": 0.03, "posterior_steps": 200}
"""The recipe's; the posterior's noise was chosen on tasks of other seeds."""


def experiment(scale: Scale) -> Experiment:
    """One run per task, n and seed, each with all certificates."""
    chosen: dict[str, dict[str, float]] = {"mnist": dict(MNIST[scale]), "sparse majority": dict(MAJORITY)}
    configs: list[Config] = [
        {"task": task, "n": n, "seed": seed, "delta": DELTA, **chosen[task]}
        for task, (sizes, seeds) in GRID[scale].items()
        for n in sizes
        for seed in range(seeds)
    ]
    return Experiment(
        "certificates", run=f"{_certificate_runs.__name__}:run", version=1, configs=configs, shorten=_shorten
    )


def _shorten(config: Config) -> Shortened:
    """The steps of the encoder and of Occam's networks decide on MNIST, the examples on sparse majority."""
    if config["task"] == "sparse majority":
        return two_lengths(config, "n", 300, 3000)
    steps = [name for name in config if name.endswith("_steps")]
    short, long = (
        {**config, **{name: max(least, config[name] // share) for name in steps}} for least, share in ((1, 60), (2, 15))
    )
    whole = config["encoder_steps"]
    return (short, short["encoder_steps"] / whole), (long, long["encoder_steps"] / whole)


# --- what the runs say ------------------------------------------------------------------------------------------------


def analyse(rows: Sequence[Row]) -> Analysis:
    notes = Notes()
    found = cells(rows)
    tasks = {task: [cell for cell in found if cell.task == task] for task in TITLES}
    tasks = {task: line for task, line in tasks.items() if line}
    for cell in found:
        _of_cell(notes, cell)
    told = []
    for line in tasks.values():
        _of_task(notes, line)
        told.append(f"on {TITLES[line[0].task]} {_winners(line)}")
    plots = (
        {"certificates": risk_plot(tasks, DELTA), "cross_entropy": cross_entropy_plot(tasks, DELTA)} if tasks else {}
    )
    return notes.analysis(f"{'; '.join(told)}.", **plots)


def _winners(line: list[Cell]) -> str:
    """Who has the smallest certificate at how many n."""
    names = [able[0] if len(able := cell.able) == 1 else "no clear one" for cell in line]
    counts = ", ".join(f"{name} at {names.count(name)}" for name in dict.fromkeys(names))
    return f"the smallest certificate, by number of sample sizes (of {len(line)}): {counts}"


def _of_cell(notes: Notes, cell: Cell) -> None:
    letters = ", ".join(LETTERS[id] for id in cell.rivals)
    notes.found(
        f"{cell.where}: smallest of {letters}, each alone ({' or '.join(cell.able)})", cell.mean(cell.ranking[0])
    )
    counted = ", ".join(f"{LETTERS[id]} in {times}" for id, times in cell.chosen.most_common())
    notes.found(f"{cell.where}: best of {letters}, the choice paid ({counted} runs)", mean_interval(cell.best))
    true = cell.mean("holdout", "true")
    pairs = zip(cell.of("holdout"), cell.of("holdout", "true"), strict=True)
    above = sum(alone < risk for alone, risk in pairs)
    notes.found(
        f"{cell.where}: true error rate of H's network, against H",
        true,
        bound_frequency(above, len(cell.values), DELTA),
    )


def _of_task(notes: Notes, line: list[Cell]) -> None:
    title, largest = TITLES[line[0].task], line[-1]
    for id in largest.ids:
        saying = OTHERS.get(id, "the error rate of one network")
        notes.found(f"{largest.where}: {LETTERS[id]}, bounds {saying}", largest.mean(id))
        slope = power_law({float(cell.n): cell.of(id) for cell in line if id in cell.ids})
        if not math.isnan(slope.value):
            notes.found(f"{title}: exponent of {LETTERS[id]} in n", slope)
    for id in largest.rivals:
        start = informative_from(line, id)
        notes.findings.append(Finding(f"{title}: least n at which {LETTERS[id]} is below 1/2", None, start))
    everything = sum(len(cell.ids) * len(cell.values) for cell in line)
    broken, certain = (sum(cell.violations(allowed) for cell in line) for allowed in (0.0, ERRORS))
    setting = (
        f"{title}: certificates below what they bound, all n ({certain} by more than {ERRORS:g} errors of the estimate)"
    )
    verdict = bound_frequency(broken, everything, DELTA)
    notes.findings.append(Finding(setting, None, f"{broken} of {everything}", None, verdict, f"≤ {DELTA:g} of them"))
    first, best = largest.mean(largest.ranking[0]).value, mean_interval(largest.best).value
    rivals = len(largest.rivals)
    notes.remarks.append(
        f"{title}, n = {largest.n:,}: the choice among {rivals} certificates costs {math.log(rivals):.2f} nats and "
        f"turns {100 * first:.2g} % into {100 * best:.2g} %."
    )
    better = [f"that of {LETTERS[cell.better]} at {cell.n:,}" for cell in line if cell.better is not None]
    if better:
        named = ", ".join(better)
        notes.remarks.append(
            f"{title}: the smallest certificate need not belong to the best network; {named} errs less."
        )


def informative_from(line: list[Cell], id: str) -> int | None:
    """The first n of the grid from which on the mean certificate is below guessing."""
    start = None
    for cell in reversed(line):
        if id not in cell.ids or cell.mean(id).value >= TRIVIAL[id]:
            break
        start = cell.n
    return start


READINGS = (
    """Every certificate is for its own predictor: H and B for the network fitted on half of the examples, K1 for one
    drawn around it, O for the one on the grid and M for the one before rounding, both fitted on all. The winner is the
    smallest bound on an error rate, whoever's it is.""",
    f"""Each certificate has delta = {DELTA:g} and, like the demo, pays for 64 configurations tried. A winner named
    after looking is not a certificate; the best of several is, with delta divided equally among them.""",
    """MNIST: a seed orders the 12,115 images that had no part in choosing the settings. n of them are the sample, the
    others estimate the true risk. Seeds share this pool, so their samples overlap more as n grows (at 10,000 by more
    than four fifths) and the bands are too narrow there. M does not apply: no cover of this class is small enough
    yet.""",
    """Sparse majority: each seed is a new task with independent examples. True risks are averages over all 2^20 inputs;
    that of K is estimated from 50,000 pairs of weights and input.""",
    """At quick scale the encoders are trained for fewer steps than in the demo and O has one seed instead of two; the
    paper's scale has the demo's settings. The posterior's noise for sparse majority was chosen on tasks of seeds that
    are not used here.""",
    "The certificate by disagreement is left out: it adds to H by construction and needs unlabelled examples.",
)

STUDIES = (
    Study(
        id="certificates",
        paper="certificates",
        title="Which certificate wins at which n",
        claim=(
            "None of the papers asks. Certificates that hold examples back (H, K1, K, B) pay little and see only some "
            "of them; those that train on all (O, M) pay for a class instead. Which is smaller depends on n."
        ),
        experiment=experiment,
        analyse=analyse,
        readings=tuple(" ".join(reading.split()) for reading in READINGS),
    ),
)
