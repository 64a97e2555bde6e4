"""Predictions to a report, and the report checked again.

What a colleague needs to believe a number: the predictions, the report, and a command that counts again.
"""

# %%
from pathlib import Path

import numpy as np

import certiformer

random = np.random.default_rng(7)
labels = random.integers(3, size=2000)
wrong = random.random(2000) < 0.04
predictions = np.where(wrong, (labels + 1) % 3, labels)
np.savez("predictions.npz", heldout_labels=labels, heldout_predictions=predictions, heldout_ids=np.arange(2000))

# %%
report = certiformer.certify(predictions="predictions.npz", delta=0.01)
print(report.headline)
page, document = report.write("out")
print(sorted(path.name for path in Path("out").iterdir()))

# %% [markdown]
# Whoever gets the folder and the data counts again. A changed number is found.

# %%
checked = certiformer.verify("out/report.json", data="predictions.npz")
for row in checked.rows:
    print(f"{row.id}: reported {row.reported:.5f}, counted again {row.recomputed:.5f}, agrees: {row.agrees}")
