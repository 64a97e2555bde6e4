"""docs/language-model.md: its limits are what its losses give."""

import re
from pathlib import Path

from certiformer import certify
from certiformer.certification.declaration import Declaration

DOCS = Path(__file__).parents[2] / "docs"


def test_the_published_limits_follow_from_the_published_losses():
    declared = Declaration(range=(0.0, 8.2077), population="reviews")
    report = certify(predictions=DOCS / "data" / "byte-lm-losses.npz", declaration=declared)
    page = (DOCS / "language-model.md").read_text(encoding="utf-8")
    for key in ("mean_loss (bits per byte)", "progressive.loss", "progressive.ratio"):
        seen, limit = re.search(rf"\| `{re.escape(key)}` \| ([0-9.]+) \| \*\*([0-9.]+)\*\* \|", page).groups()
        assert abs(report[key].terms["observed"] - float(seen)) <= 0.00005
        assert float(limit) - 0.0001 < report[key].value <= float(limit)
