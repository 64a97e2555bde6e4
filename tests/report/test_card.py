"""The block for a model card, and the badge."""

import xml.etree.ElementTree as ElementTree

import numpy as np

import certiformer


def certified(**arrays):
    return certiformer.certify(predictions=arrays, declaration={"title": 'mail "v2": <b>'})


def test_a_report_comes_with_a_card_and_a_badge(tmp_path):
    report = certified(heldout_correct=np.arange(1000) >= 5)
    report.write(tmp_path)
    card = (tmp_path / "model-card.md").read_text()
    assert card.startswith("---\nmodel-index:")
    assert r'- name: "mail \"v2\": <b>"' in card
    assert "5 errors among 1,000 held-out examples" in card
    assert "- [ ] " in card
    assert "NOT CHECKED" in card
    badge = ElementTree.fromstring((tmp_path / "badge.svg").read_text())
    assert "error <= 1.05 % (95 %)" in "".join(badge.itertext())


def test_the_badge_of_a_loss_and_of_nothing(tmp_path):
    losses = np.random.default_rng(0).random(50)
    certiformer.certify(predictions={"heldout_losses": losses}).write(tmp_path)
    assert "mean loss" in (tmp_path / "badge.svg").read_text()
