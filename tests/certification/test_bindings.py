"""Bindings: every id exists, inputs are accepted, radii are rounded up and paid, reasons are given."""

import math

import jax
import numpy as np
import pytest

from certiformer.lab import models
from certiformer.lab.paper_results import BINDINGS, Application
from certiformer.lab.paper_results._application import Radii, paid_margin
from certiformer.lab.paper_results.model_profile import measured
from certiformer.theory.calculus import strata
from certiformer.theory.core import Quantity, find, registry
from certiformer.theory.measure.example_losses import ramp

MODELS = {
    "encoder": ("shallow_encoder", {"d": 4, "d_m": 5}),
    "one head": ("cls_transformer", {"d": 4, "k": 3}),
    "two heads": ("cls_transformer", {"d": 4, "k": 3, "heads": 2, "activation": "tanh"}),
    "deep": ("cls_transformer", {"d": 4, "k": 3, "layers": 2}),
    "deep li": ("cls_transformer", {"d": 4, "k": 3, "layers": 2, "block": "li"}),
    "logits": ("cls_transformer", {"d": 4, "k": 3, "readout": "classes", "classes": 3}),
    "low rank": ("low_rank_cls_transformer", {"d": 4, "k": 3, "rank": 2}),
    "attention": ("multi_head_attention", {"d": 4, "tokens": 3, "heads": 2}),
}
ONE_HEAD = {
    "trauger.thm4.1",
    "trauger.cor4.1.1",
    "trauger.corD.0.1",
    "trauger.corD.0.2",
    "li.thmB.1",
    "li.thmB.4",
}
APPLIES = {
    "encoder": {"mwigo.lem1", "mwigo.lem2", "mwigo.thm5"},
    "one head": {
        "trauger.thm4.1",
        "trauger.cor4.1.1",
        "trauger.corD.0.1",
        "trauger.corD.0.2",
        "li.thmB.1",
        "li.thmB.4",
    },
    "two heads": {"trauger.sec4.2", "li.thmB.2", "li.thmB.5"},
    "deep": {"trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.1", "trauger.corF.0.2"},
    "deep li": {"li.thm5.3", "li.thm5.8"},
    "logits": {"trauger.thm5.1"},
    "low rank": ONE_HEAD,
    "attention": {"deora.thm1", "deora.thm2"},
}


@pytest.fixture(scope="module")
def profiles():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3, 4)).astype(np.float32)
    found = {}
    for label, (name, settings) in MODELS.items():
        model = models.build(name, jax.random.key(0), **settings)
        if name == "multi_head_attention":  # it starts at zero
            model = jax.tree.map(lambda leaf: 0.3 * jax.random.normal(jax.random.key(2), leaf.shape), model)
        initial = models.build(name, jax.random.key(1), **settings)
        y = rng.integers(3, size=40) if label == "logits" else np.where(x[:, 0, 0] > 0, 1, -1)
        run = {"optimiser": "gradient_descent", "step_size": 0.1, "steps": 10, "start_loss": 0.7}
        found[label] = measured(model, x, y, initial=initial, training=run)
    return found


def test_every_binding_names_a_result():
    assert all(find(id).id == id for id in BINDINGS)


def test_every_guarantee_of_the_papers_is_bound():
    papers = ("arda", "deora", "mwigo", "trauger")
    wanted = {id for id, result in registry.results().items() if id.split(".")[0] in papers}
    wanted = {id for id in wanted if find(id).bounds in (Quantity.EXCESS_RISK, Quantity.RISK)}
    assert wanted <= set(BINDINGS)


@pytest.mark.parametrize("label", MODELS)
def test_which_results_apply(profiles, label):
    applied = {id for id, binding in BINDINGS.items() if isinstance(binding(profiles[label]), Application)}
    assert applied == APPLIES[label]
    for id in set(BINDINGS) - applied:
        reason = BINDINGS[id](profiles[label])
        assert isinstance(reason, str)
        assert len(reason) > 20


@pytest.mark.parametrize("label", MODELS)
def test_inputs_are_accepted_and_rounded_up(profiles, label):
    for id in APPLIES[label]:
        application = BINDINGS[id](profiles[label])
        result = find(id)
        given = dict(application.inputs) | ({"delta": 0.01} if application.takes_delta else {})
        bounds = result(**given).sound()
        assert all(not math.isnan(bound.value) for bound in bounds.values())
        if (
            application.printed_inputs is not None
            and application.kind == "rademacher"
            and result.id != "trauger.sec4.2"
        ):
            for name, measured in application.printed_inputs.items():
                if isinstance(measured, float):
                    assert application.inputs[name] >= measured * (1 - 1e-12), (id, name)
            assert application.paid > 0


def test_radii_pay_once_per_name():
    radii = Radii()
    first = radii.pay("a", 1.234)
    assert radii.pay("a", 1.234) == first >= 1.234
    assert first <= 1.234 * strata.DEFAULT_RATIO * (1 + 1e-12)
    assert radii.cost == strata.cost([strata.index(1.234)])
    radii.pay("b", 0.0)
    assert radii.cost > strata.cost([strata.index(1.234)])
    assert radii.check.state == "verified"


def test_the_margin_is_the_largest_the_allowance_permits(profiles):
    profile = profiles["one head"]
    chosen = paid_margin(profile)
    error = float(np.mean(profile.margins <= 0))
    assert chosen.loss == float(np.mean(ramp(profile.margins, chosen.margin))) <= error + 0.1
    assert np.mean(ramp(profile.margins, 2 * chosen.margin)) > error + 0.1
    assert math.log2(chosen.margin).is_integer()


def test_a_run_that_is_not_known_is_asked_for(profiles):
    unknown = type(profiles["attention"])(**{**profiles["attention"].__dict__, "training": {}})
    assert "Record" in BINDINGS["deora.thm1"](unknown)
    assert "Record" in BINDINGS["deora.thm2"](unknown)
