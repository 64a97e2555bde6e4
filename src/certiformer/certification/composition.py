"""What the covering bound of a checkpoint's own architecture says beside its predictions, and why no paper's does.

The class is that of networks of this architecture whose norms are those of the checkpoint, rounded up to a grid and
paid for (`calculus/strata`): a bound for all radii at once, so that they may be read off the trained weights. The loss
is the ramp loss at a margin of a paid grid; it lies in [0, 1] and is at least the 0-1 loss. The sample is the training
sample where its logits are given, otherwise the held-out one: the bound holds uniformly over the class on either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from certiformer.certificates import THE_MODEL
from certiformer.certification.sample import Sample
from certiformer.certification.sources.rows import whole
from certiformer.certification.statements import MOST_EXAMPLES, does_not_apply, of_bound, verdict
from certiformer.checkpoints.adapters import is_adapter
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.checkpoint_error import NoNetwork
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.network_builder import Model
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.roles import assign
from certiformer.checkpoints.violations import facts, violations
from certiformer.theory.calculus import strata
from certiformer.theory.calculus.rademacher import gap_uniform
from certiformer.theory.core import Bound, assumed, find, upper_bound, verified
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import Statement
from certiformer.theory.measure.example_losses import ramp, ramp_margin
from certiformer.theory.measure.margins import margins
from certiformer.theory.networks import Analysis, analyse

ID = "composition"
TITLE = "Covering bound of the checkpoint's architecture"
SCALES = (0.05, 0.25)


@dataclass(frozen=True, eq=False)
class Composed:
    """A checkpoint's class on a sample; `reason` where there is no bound, and the hypotheses the theorems lack."""

    reason: str = ""
    analysis: Analysis | None = None
    paid: float = 0.0
    radii: int = 0
    margin: float = 0.0
    loss: float = 0.0
    n: int = 0
    sample: str = ""
    broken: Mapping[str, str] | None = None
    pays: bool = False
    """Whether a part of delta is set aside: decided by the architecture and the file's arrays, never by numbers."""

    def rows(self, share: float | None) -> list[Statement]:
        """The composition, then every theorem with what fails."""
        from certiformer.lab.paper_results.result_rows import paper_quantity

        absent = Statement(id=ID, title=TITLE, bounds="gap", reason=self.reason)
        found = [self._row(share) if self.analysis is not None and share is not None else absent]
        for id, reason in (self.broken or {}).items():
            result = find(id)
            found.append(does_not_apply(result, paper_quantity(result), reason))
        return found

    def _row(self, share: float) -> Statement:
        from certiformer.lab.paper_results.result_rows import GUARANTEES

        analysis, n = self.analysis, self.n
        assert analysis is not None

        def gap(complexity: float, size: float) -> float:
            return gap_uniform(complexity, 1.0, self.paid - math.log(share), size)

        deviation = gap(0.0, n)
        complexity = analysis.rademacher(n)
        bound: Bound = upper_bound(
            gap(complexity, n),
            terms={"complexity of the class": 2.0 * complexity, "confidence": deviation},
            additive=True,
            hypotheses=(
                verified(f"{self.radii} norms read off the weights are rounded up and paid for", True, self.paid),
                verified("the loss is the ramp loss at a paid margin, in [0, 1] and at least the 0-1 loss", True),
                assumed("the logits are those of this checkpoint, on independent examples"),
                assumed("the architecture, not only the norms, was fixed before the examples"),
            ),
        )
        nats = analysis.log_size(0.25)
        informative = verdict(bound, 1.0) == "informative"
        return of_bound(
            ID,
            TITLE,
            bound,
            "gap",
            1.0,
            share,
            dominating=max(bound.terms, key=lambda term: bound.terms[term]),
            n_needed=None if informative else self._needed(analysis, self.paid - math.log(share)),
            terms={
                **bound.terms,
                "Rademacher complexity": complexity,
                "ln of the cover at 1/4": nats,
                "paid for radii and margin (nats)": self.paid,
                "margin": self.margin,
                f"ramp loss on the {self.sample} sample": self.loss,
                "share of delta": share,
            },
            guarantee=GUARANTEES["gap"],
            subject=THE_MODEL,
        )

    def _needed(self, analysis: Analysis, confidence_nats: float) -> float | None:
        """The n from which on 2 Rad + sqrt(nats/2n) < 1, by one scale: Rad <= eps + sqrt(2 ln N(eps)/n)/2.

        A chain of scales would ask for somewhat fewer; it takes a hundred times as long on a network of many weights.
        """
        tries = [
            ((math.sqrt(2.0 * analysis.log_size(eps)) + math.sqrt(confidence_nats / 2.0)) / (1.0 - 2.0 * eps)) ** 2
            for eps in SCALES
        ]
        best = min(tries)
        return float(math.ceil(best)) if best < MOST_EXAMPLES else None


def _margins(sample: Sample) -> tuple[npt.NDArray[np.float64], int, str] | str:
    """f_y - max_j f_j (y f for one logit), the number of logits, and on which sample; or why there are none.

    It is the training sample where its logits are given, otherwise the held-out one.
    """
    rows, coding = sample.parts, sample.coding
    part = next((part for part in ("train", "heldout") if {f"{part}_logits", f"{part}_labels"} <= set(rows)), None)
    if part is None or coding is None:
        return "it needs margins: give train_logits and train_labels, or those of the held-out examples"
    logits = np.asarray(whole(rows[f"{part}_logits"]), dtype=np.float64)
    codes = coding.code(f"{part}_labels", whole(rows[f"{part}_labels"]))
    if not np.all(np.isfinite(logits)):
        return "some logits are infinite: the margins are not defined"
    if logits.ndim == 1 or logits.shape[1] == 1:
        logits, codes = logits.reshape(-1), 2 * codes - 1
    columns = logits.shape[1] if logits.ndim == 2 else 1
    return margins(logits, codes), columns, "training" if part == "train" else "held-out"


def composed(path: str | Path, sample: Sample) -> Composed:
    """The class of a checkpoint on a sample, its radii paid."""
    target = Path(path)
    if is_adapter(target):
        return Composed("an adapter is not a network: merge it into its base, or see `certiformer inspect`")
    roles = assign(open_checkpoint(target))
    try:
        model = Model.of(roles)
    except CertiformerError as error:
        return Composed(f"{error}".rstrip("."))
    broken: dict[str, list[str]] = {}
    for entry in violations(facts(model.architecture)):
        broken.setdefault(entry["id"], []).append(entry["hypothesis"])
    reasons = {id: "; ".join(sentences) for id, sentences in broken.items()}
    found = _margins(sample)
    if isinstance(found, str):
        return Composed(found, broken=reasons, pays=True)
    values, outputs, part = found
    index, margin = ramp_margin(values)
    account: dict[str, int] = {}

    def pay(name: str, norm: float) -> float:
        account[name] = strata.index(norm)
        return strata.radius(account[name])

    measurer = Measurer(Cache("norms"))
    try:
        built, _ = model.build(measurer, margin=margin, pay=pay)
    except NoNetwork as error:
        return Composed(error.problem, broken=reasons)
    end = model.architecture.end
    logits = end.classes if end.role else 0
    if logits != outputs:
        there = "no output head" if logits == 0 else f"a head with {logits:,} outputs"
        reason = f"the file has {there}, the predictions have {outputs}: they are of another network"
        return Composed(reason, broken=reasons)
    return Composed(
        analysis=analyse(built.output),
        paid=strata.cost([*account.values(), index]),
        radii=len(account),
        margin=margin,
        loss=float(np.mean(ramp(values, margin))),
        n=len(values),
        sample=part,
        broken=reasons,
        pays=True,
    )
