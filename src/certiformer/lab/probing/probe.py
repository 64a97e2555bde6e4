"""`certiformer probe`: labelled texts and a frozen encoder to certificates of heads, with everything handed over.

The encoder was trained elsewhere and must not have seen these texts' labels. Texts are embedded once; heads are trained
here: one on a part, certified on the rest (hold-out), others on everything (Occam, PAC-Bayes, compression; the plain
head through its held-out surrogate). All guarantees of the report hold together with probability 1 - delta.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.surrogate import Surrogate
from certiformer.certification.declaration import Declaration, Repeats
from certiformer.certification.linear_head import fit
from certiformer.certification.pipeline import build
from certiformer.certification.predictions import ENCODER, of_sample
from certiformer.certification.predictors import content_of, load_predictor
from certiformer.certification.predictors.gaussian import mistakes
from certiformer.certification.predictors.linear_head import HeldOutHead, prepared
from certiformer.certification.sample import Sample
from certiformer.certification.split import split
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.encoder import Encoder
from certiformer.lab.probing.embedding import Progress, embed
from certiformer.lab.probing.texts import Texts, chosen, column_of, read_texts
from certiformer.lab.procedures.head import picked_head
from certiformer.theory.core.errors import InputError, refuse_unknown_options
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.core.report import Report
from certiformer.theory.core.schema import TEXTS, holding, require_shape

TOKENS = 128
HELD_OUT = 0.5
"""The part of the texts that certifies the hold-out head; the other part trains it."""
LEAST = 40
PENALTIES, FOLDS = (0.01, 0.1, 1.0), 5
UNLABELLED = 1000
"""Texts beyond `most` whose labels are not looked at: they carry the hold-out's guarantee to the final head."""
CARD = "probe.json"


@dataclass(frozen=True, eq=False)
class Probe:
    """The report and the features behind it: what is needed to verify and to predict."""

    report: Report
    arrays: Mapping[str, npt.NDArray[Any]]
    card: Mapping[str, Any]
    files: Mapping[str, bytes]

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """The report with its predictors, features.npz (for `certiformer verify --data`), and probe.json."""
        buffer = io.BytesIO()
        np.savez(buffer, **self.arrays)  # type: ignore[arg-type]
        card = json.dumps(self.card, indent=2) + "\n"
        files = {**self.report.files, **self.files, "features.npz": buffer.getvalue(), CARD: card.encode()}
        return replace(self.report, files=files).write(folder)


@dataclass(frozen=True)
class Columns:
    """Which columns of the CSV file hold the texts, their labels and, where texts belong together, their groups."""

    text: str = "text"
    label: str = "label"
    group: str | None = None


@refuse_unknown_options(moved={name: f"columns=Columns({name}=...)" for name in ("text", "label", "group")})
def probe(
    path: str | Path,
    texts: str | Path,
    *,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    repeats: Repeats = "refuse",
    most: int | None = None,
    tokens: int = TOKENS,
    models: int = 1,
    delta: float = 0.05,
    seed: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> Probe:
    """Embed, split, train heads, certify. `most` uses at most that many texts, drawn at random.

    Texts that repeat are refused; `repeats="group"` uses one row of each, "natural" takes them as independent draws.

    `models`: how many ways of doing this (encoders, settings) were or will be tried on these texts, all fixed before
    their results were seen: they divide delta.
    """
    if most is not None and most < LEAST:
        raise InputError("most", most, f"at least {LEAST} texts")
    if seed < 0:
        raise InputError("seed", seed, "a whole number from 0")
    data = read_texts(texts, text=columns.text, label=columns.label, group=columns.group, repeats=repeats)
    order = chosen(data, seed)
    used, rest = order[:most], order[most:][:UNLABELLED] if most is not None else order[:0]
    if len(used) < LEAST:
        raise InputError("texts", f"{len(used)} to use", f"at least {LEAST}", "Give more labelled texts")
    store = Cache("embeddings", kept=cache)
    kept = [data.texts[index] for index in (*used, *rest)]
    vectors = embed(Path(path), kept, longest=tokens, cache=store, progress=progress)
    features, others = vectors[: len(used)], vectors[len(used) :]
    labels, classes = data.labels[used], len(data.names)
    arrays, head, penalty = _arrays(features, labels, classes, seed)
    title = f"{Path(texts).name} with {Path(path).name}"
    sample = Sample.of(arrays, Declaration(models=models, seed=seed, population=data.of, title=title))
    findings = of_sample(sample, provenance=_provenance(path, texts, data, used, tokens))
    evidence = tuple(
        replace(record, predictor=head, subject="the linear head that is held out from the certified texts")
        if isinstance(record, HoldOut)
        else record
        for record in findings.evidence
    )
    files: dict[str, bytes] = {}
    evidence += (replace(picked_head(features, labels, classes), models=models),)
    if len(others):
        final = HeldOutHead(fit(prepared(features), labels, classes, penalty), np.zeros(0, np.int64))
        evidence += (_surrogate(head, final, others, evidence),)
        files["head-final.safetensors"] = content_of(final)
    findings = replace(
        findings,
        evidence=tuple(replace(record, of=data.of) for record in evidence),
        conditions=(*findings.conditions, *data.conditions),
        not_checked=(*_unchecked(data, findings.not_checked), "whether the encoder had seen the labels of these texts"),
        configuration={**findings.configuration, "verb": "probe"},
    )
    report = build(findings, delta)
    card = {
        "encoder": Encoder(path).identity(),
        "tokens": tokens,
        "classes": list(data.names),
        "heads": sorted([*report.files, *files]),
    }
    return Probe(report, arrays, card, files)


def _surrogate(
    surrogate: HeldOutHead, final: HeldOutHead, others: npt.NDArray[np.float64], evidence: tuple[Evidence, ...]
) -> Surrogate:
    """The head trained on every labelled text, through the held-out one and texts whose labels nobody used."""
    counted = next(record for record in evidence if isinstance(record, HoldOut))
    return Surrogate(
        errors=counted.errors,
        n=counted.n,
        disagreements=int(np.sum(surrogate.predict(others) != final.predict(others))),
        m=len(others),
        form="joint",
        models=counted.models,
        subject="the linear head trained on every labelled text",
        note="Written as head-final.safetensors; the unlabelled texts are drawn from the same file.",
    )


def _arrays(
    features: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], classes: int, seed: int
) -> tuple[dict[str, npt.NDArray[Any]], HeldOutHead, float]:
    """The arrays of a predictions file, the head behind the held-out logits, and its penalty."""
    n = len(labels)
    held = round(HELD_OUT * n)
    parts = split(n, {"train": n - held, "certify": held}, seed)
    inside, outside = parts["train"], parts["certify"]
    seen = prepared(features)
    penalty = chosen_penalty(seen[inside], labels[inside], classes)
    weights = fit(seen[inside], labels[inside], classes, penalty)
    head = HeldOutHead(weights, outside)
    scores = seen @ weights
    logits = scores[:, 0] if scores.shape[1] == 1 else scores
    ids = np.arange(n)
    return (
        {
            "heldout_logits": logits[outside],
            "heldout_labels": labels[outside],
            "heldout_ids": ids[outside],
            "train_logits": logits[inside],
            "train_labels": labels[inside],
            "train_ids": ids[inside],
            "head_features": features,
            "head_labels": labels,
            "classes": np.array(classes),
        },
        head,
        penalty,
    )


def chosen_penalty(features: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], classes: int) -> float:
    """The ridge penalty with the fewest errors in cross-validation, on the examples the head is trained on alone."""
    fold = np.arange(len(labels)) % FOLDS
    errors = []
    for penalty in PENALTIES:
        heads = [fit(features[fold != k], labels[fold != k], classes, penalty) for k in range(FOLDS)]
        errors.append(sum(int(mistakes(features[fold == k] @ heads[k], labels[fold == k]).sum()) for k in range(FOLDS)))
    return PENALTIES[int(np.argmin(errors))]


def _unchecked(data: Texts, said: tuple[str, ...]) -> list[str]:
    """What is still open: texts were compared, and groups are known where a column names them."""
    return [one for one in said if one != ENCODER and (data.groups is None or "belong together" not in one)]


def _provenance(
    path: str | Path, texts: str | Path, data: Texts, used: npt.NDArray[np.int64], tokens: int
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "encoder": str(path),
        "texts": str(texts),
        "texts_sha256": data.hash,
        "rows": len(data.texts),
        "repeated_texts": data.repeated,
        "repeated_with_another_label": data.conflicting,
        "texts_used": len(used),
        "tokens_per_text": tokens,
        "classes": ", ".join(data.names),
        "feature_tuning": "none: the encoder is frozen and was trained elsewhere",
    }
    if data.groups is not None:
        found["units"] = f"{len(set(data.groups))} {data.of}; one row of each is used"
    return found


def predict(
    path: str | Path,
    head: str | Path,
    texts: str | Path,
    *,
    text: str = "text",
    cache: bool = True,
    progress: Progress | None = None,
) -> list[str]:
    """Class names for the texts of a CSV file, one for every row, by a head that `probe` certified."""
    card = read_json(Path(head).parent / CARD, CARD, unique=True)
    require_shape(card, holding({"encoder": {}, "tokens": {"type": "integer"}, "classes": TEXTS}), CARD)
    encoder = Encoder(path)
    if card.get("encoder") != encoder.identity():
        raise InputError("encoder", str(path), "the weights that the head was trained on", f"See {CARD} beside it")
    kept = column_of(texts, text)
    store = Cache("embeddings", kept=cache)
    features = embed(Path(path), kept, longest=card["tokens"], cache=store, progress=progress)
    predictor: Predictor = load_predictor(head)
    numbers = predictor.predict(features).tolist()
    if not set(numbers) <= set(range(len(card["classes"]))):
        raise InputError(f"{CARD}: classes", card["classes"], "a name for every class of the head")
    return [card["classes"][number] for number in numbers]
