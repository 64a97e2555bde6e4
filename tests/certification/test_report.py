"""The document: contract, shares of delta, verdicts, the headline, sound rows next to printed ones."""

import json
import math

import jax
import numpy as np
import pytest

import certiformer
from certiformer.certificates import certificates
from certiformer.certificates._covers import Scale
from certiformer.certificates.betting import Betting
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certificates.progressive import Progressive
from certiformer.certification.api import certify
from certiformer.certification.counting import Subject
from certiformer.certification.pipeline import Findings, build
from certiformer.certification.verify import schema
from certiformer.lab import models
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.schema import violations

FIELDS = {
    "id",
    "bounds",
    "value",
    "log10",
    "trivial",
    "verdict",
    "confidence",
    "dominating",
    "n_needed",
    "conditions",
    "terms",
    "version",
}
EVERYTHING = (
    HoldOut(errors=10, n=1000),
    Betting(losses=(0.01,) * 300, low=0.005, high=5.3, smoothing=0.01, classes=2),
    Occam(errors=20, n=10_000, code_length=200.0, subject="a quantised network", parts={"coordinates": 180.0}),
    Gibbs(error=0.01, n=5000, KL=20.0, subject="a randomised network"),
    SingleDraw(errors=50, n=5000, log_ratio=10.0, subject="a network drawn once"),
    Margin(n=10_000, scales=(Scale(50, 200.0, 3.0, 1.0), Scale(90, 120.0, 3.0, 2.0))),
    Disagreement(errors=10, n=1000, disagreements=3, unlabelled=900, subject="the final model"),
    Progressive(mean_loss=0.01, n=10_000, subject="an iterate drawn at random"),
)


def findings(*evidence, **changes):
    given = {
        "title": "a test",
        "classes": 2,
        "observed": {"train_error": 0.0, "heldout_error": 0.01},
        "evidence": evidence or EVERYTHING,
        "configuration": {"flow": "test"},
        "splits": {"data": "0" * 64},
        "seed": 3,
    }
    return Findings(**{**given, **changes})


@pytest.fixture(scope="module")
def full():
    return build(findings(), 0.05)


def test_the_document_keeps_the_contract(full):
    document = json.loads(json.dumps(full.document, allow_nan=False))
    assert not list(violations(document, schema()))
    for row in document["statements"]:
        assert set(row) >= FIELDS
        assert row["version"] in ("sound", "printed")
        for check in row["conditions"]:
            assert set(check) == {"id", "requires", "state", "why"}
    assert {row["id"] for row in document["statements"]} == set(certificates())
    assert document["statements"][0]["id"] == "holdout"
    assert document["provenance"]["split_data"] == "0" * 64


def test_shares_of_delta_add_up(full):
    shares = full.document["shares"]
    assert math.fsum(shares.values()) <= full.document["delta"]
    assert math.fsum(shares.values()) == pytest.approx(0.05)
    for row in full.statements:
        assert row.value is None or row.confidence == pytest.approx(1 - shares[row.id])


def test_every_certificate_is_what_its_result_gives_at_its_share(full):
    for evidence in EVERYTHING:
        share = full.document["shares"][evidence.id]
        evaluation = certiformer.bound(evidence.id, **evidence.inputs(share))
        assert full[evidence.id].value == evaluation.sound[evaluation.best].value
        assert full[evidence.id].bounds == evidence.bounds
        assert full[evidence.id].guarantee


def test_the_headline_speaks_of_the_model_and_rounds_up(full):
    value = full["holdout"].value
    percent = float(full.headline.split("at most ")[1].split(" %")[0])
    assert value <= percent / 100 < value + 1.1e-4
    assert full.headline.startswith("The model errs on at most")
    assert "95 %" in full.headline


def test_a_headline_without_a_guarantee_says_so():
    report = build(findings(HoldOut(errors=7, n=20)), 0.05)
    assert report.headline.startswith("Nothing here is guaranteed to be better than guessing")
    assert report["holdout"].verdict.startswith("vacuous by")
    needed = report["holdout"].n_needed
    assert build(findings(HoldOut(errors=math.ceil(0.35 * needed), n=int(needed * 1.05))), 0.05)["holdout"].informative
    hopeless = build(findings(HoldOut(errors=11, n=20)), 0.05)
    assert hopeless["holdout"].n_needed is None
    nothing = build(findings(Progressive(mean_loss=0.5, n=20)), 0.05)
    assert nothing.headline.startswith("No certificate says anything")


def test_what_has_no_evidence_says_why():
    report = build(findings(HoldOut(errors=0, n=100), missing={"occam": "because of the test"}), 0.05)
    assert report["occam"].verdict == "does not apply"
    assert report["occam"].reason == "because of the test"
    assert "new to both" in report["disagreement"].reason
    assert report["occam"].value is None


def test_the_margin_certificate_takes_the_best_scale_of_its_grid(full):
    assert full["margin"].terms["margin"] == 2.0
    alone = [build(findings(Margin(n=10_000, scales=(scale,))), 0.05)["margin"].value for scale in EVERYTHING[5].scales]
    together = build(findings(EVERYTHING[5]), 0.05)["margin"].value
    assert together == min(alone)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_delta_is_a_probability(delta):
    with pytest.raises(InputError, match="delta"):
        build(findings(), delta)


def test_records_must_differ_and_there_must_be_some():
    with pytest.raises(InputError, match="differ"):
        build(findings(HoldOut(errors=1, n=20), HoldOut(errors=2, n=20)), 0.05)
    labelled = build(findings(HoldOut(errors=1, n=20), HoldOut(errors=2, n=20, label="other")), 0.05)
    assert set(labelled.document["shares"]) == {"holdout", "holdout (other)"}
    with pytest.raises(InputError, match="nothing"):
        build(Findings(**{**findings().__dict__, "evidence": ()}), 0.05)


def test_models_compared_are_paid_for():
    one = build(findings(HoldOut(errors=1, n=200)), 0.05)["holdout"].value
    many = build(findings(HoldOut(errors=1, n=200, models=50)), 0.05)["holdout"].value
    assert many > one
    exact = certiformer.bound("holdout", errors=1, n=200, delta=0.05 * (1 - 1e-12) / 50)
    assert many == pytest.approx(exact.sound["value"].value, rel=1e-9)
    losses = (0.01,) * 300
    bets = [Betting(losses=losses, low=0.0, high=5.0, smoothing=0.01, classes=2, models=k) for k in (1, 50)]
    few, lots = (build(findings(bet), 0.05)["betting"].value for bet in bets)
    assert lots > few


# The papers' rows


def encoder_report(**changes):
    rng = np.random.default_rng(0)
    model = models.build("shallow_encoder", jax.random.key(1), d=4, d_m=6)
    start = models.build("shallow_encoder", jax.random.key(2), d=4, d_m=6)
    x = rng.normal(size=(120, 3, 4)).astype(np.float32)
    y = np.sign(x[:, :, 0].sum(1)).astype(int)
    subject = Subject(model, **{"initial": start, **changes})
    return certify(subject, heldout=(x[:60], y[:60]), train=(x[60:], y[60:]))


@pytest.fixture(scope="module")
def encoder():
    return encoder_report()


def rows(report, id):
    return {row.version: row for row in report.statements if row.id == id}


def test_papers_are_sound_and_printed_side_by_side(encoder):
    both = rows(encoder, "mwigo.lem2")
    assert set(both) == {"sound", "printed"}
    assert both["printed"].confidence is None
    assert not both["printed"].informative
    assert both["sound"].confidence == pytest.approx(1 - encoder.document["shares"]["mwigo.lem2"])
    assert both["sound"].verdict.startswith("vacuous by")
    assert both["sound"].dominating == "complexity of the class"
    assert both["sound"].terms["paid for radii and margin (nats)"] > 0
    assert math.fsum(encoder.document["shares"].values()) <= 0.05


def test_papers_that_do_not_apply_say_why(encoder):
    assert "cls_transformer" in encoder["trauger.thm4.1"].reason
    assert "multi_head_attention" in encoder["deora.thm1"].reason
    assert encoder["li.thmB.1"].value is None
    without = encoder_report(initial=None)
    assert "initial weights are not known" in without["mwigo.lem2"].reason


def test_the_gap_is_the_complexity_at_paid_radii(encoder):
    row = rows(encoder, "mwigo.lem2")["sound"]
    share = encoder.document["shares"]["mwigo.lem2"]
    paid, margin = row.terms["paid for radii and margin (nats)"], row.terms["margin"]
    expected = 2 * row.terms["Rademacher complexity"] / margin + math.sqrt((paid - math.log(share)) / (2 * 60))
    assert row.value == pytest.approx(expected, rel=1e-9)
    assert row.value > 1  # shown as it is, never clipped
    assert row.n_needed > 60


def test_the_profile_is_in_the_document(encoder):
    entries = {entry["name"]: entry for entry in encoder.document["profile"]}
    assert entries["W_Q spectral"]["how"].startswith("certified upper bound")
    assert entries["0-1 loss"]["value"] == encoder.document["observed"]["train_error"]
    assert "page" in dir(encoder)
    assert "<script>" in encoder.page()
