"""What a source hands on: everything that was found out, before delta is divided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from certiformer.certificates import Evidence
from certiformer.theory.core.report import Decision

if TYPE_CHECKING:
    from certiformer.certification.composition import Composed


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything a run found out: what a recipe or another source returns and what the pipeline reads.

    `observed` holds at least `train_error` and `heldout_error` where they are known, and the numbers of examples.
    `configuration` is all that was fixed before the certified examples were read (JSON-able; it is hashed), `splits`
    the hashes of the divisions of the data by name, `tried` the number of configurations ever compared on them.
    """

    title: str
    classes: int
    observed: Mapping[str, float | int | None]
    evidence: tuple[Evidence, ...]
    configuration: Mapping[str, Any]
    splits: Mapping[str, str]
    seed: int
    tried: int = 1
    model: Any = None
    """The model that is profiled; one of `certiformer.lab.models` also meets the papers' results."""
    sample: tuple[Any, Any] | None = None
    """Inputs and labels the model was trained on, for the profile and the papers' results."""
    initial: Any = None
    """The same model before training, for the distance from initialisation."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """What is known about the run: optimiser, step_size, steps, start_loss, ..."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a certificate has no evidence, by id; ids in neither place get a general reason."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the provenance table: hashes of the data, files, the command."""
    not_checked: tuple[str, ...] = ()
    """What nobody looked at because it was not given: it stands beside the headline."""
    conditions: tuple[str, ...] = ()
    """What the caller states beside the hypotheses of the certificates."""
    declaration: Mapping[str, Any] = field(default_factory=dict)
    """What the caller declared, where it is not the default, as JSON: with the data it gives the findings again."""
    decisions: tuple[Decision, ...] = ()
    """What was decided while the data were read: columns, codings, directions, repeats."""
    warnings: tuple[str, ...] = ()
    composed: Composed | None = None
    """The class of a checkpoint of another framework, where one was given beside its predictions."""
