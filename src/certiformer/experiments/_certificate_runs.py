"""One sample, every certificate: its value, what it paid, and what it bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from certiformer.certificates import Evidence
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.delta import divide
from certiformer.core import find
from certiformer.experiments import _certificates_majority, _certificates_mnist
from certiformer.sweep import Outcome
from certiformer.sweep.run import Config

RISK = "risk_01"
TASKS: Mapping[str, Callable[[Config], list[tuple[Evidence, float]]]] = {
    "mnist": _certificates_mnist.judged,
    "sparse majority": _certificates_majority.judged,
}


def run(config: Config) -> Outcome:
    """By certificate: `alone` at delta, `joint` at its share of delta among those that bound a network's error rate.

    `true` is what it bounds, for its own predictor; `nats` is what was paid besides ln(1/delta), `configurations`
    tried included. `best` is the least of the joint ones: it may be quoted, for they hold together.
    """
    return Outcome(summary(TASKS[config["task"]](config), config["delta"]))


def summary(judged: list[tuple[Evidence, float]], delta: float) -> Config:
    rivals = [record for record, _ in judged if record.bounds == RISK]
    ledger = divide(delta, {record.key: 1.0 for record in rivals})
    joint = {record.id: limit(record, ledger.of(record.key)) for record in rivals}
    chosen = min(joint, key=lambda id: joint[id])
    return {
        "certificates": {
            record.id: {
                "alone": limit(record, delta),
                "joint": joint.get(record.id),
                "true": true,
                "nats": nats(record, delta),
                "examples": record.size,
            }
            for record, true in judged
        },
        "best": {"id": chosen, "value": joint[chosen], "price": math.log(len(rivals))},
    }


def limit(record: Evidence, delta: float) -> float:
    """The certificate, the configurations that were ever tried being paid for."""
    return find(record.id).evaluate(record.inputs(delta / record.models)).sound["value"].value


def nats(record: Evidence, delta: float) -> float:
    """Code length, divergence, log ratio or covering number, and the configurations."""
    paid = math.log(record.models)
    if isinstance(record, Occam):
        return paid + record.code_length
    if isinstance(record, Gibbs):
        return paid + record.KL
    if isinstance(record, SingleDraw):
        return paid + record.log_ratio
    if isinstance(record, Margin):
        scale = record.best(delta / record.models)
        return paid + scale.logN + scale.paid
    return paid
