"""A scikit-learn classifier with a guarantee.

Handwritten digits, logistic regression, and what may be said about new digits.
"""

# %%
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import certiformer

x, y = load_digits(return_X_y=True)
x_train, x_held, y_train, y_held = train_test_split(x / 16.0, y, test_size=0.5, random_state=0)
classifier = LogisticRegression(max_iter=200).fit(x_train, y_train)

# %%
report = certiformer.certify(classifier, heldout=(x_held, y_held), train=(x_train, y_train))
print(report.headline)
for row in report.statements:
    if row.version == "sound" and row.value is not None:
        print(f"  {row.id:10} {row.value:.4f}  {row.bounds}")

# %% [markdown]
# In a notebook the report shows itself:

# %%
shown = report

# %% [markdown]
# `report.write("out")` writes a page to sign, JSON, a model card and a badge. The digits come
# from a fixed file: the claim is about further digits drawn like these, not about other writers.
