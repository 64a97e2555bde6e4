"""A lemma by hand: where a printed bound fails.

Every average of at most k of three points, enumerated, beside the printed and the sound bound of Lemma 3.1.
"""

# %% [markdown]
# The lemma says: a combination f = Σ αᵢ Vᵢ with weights that add up to γ ≤ 1 and ‖Vᵢ‖ ≤ b is close to an average of k
# of the points. Printed is (γ²b² − ‖f‖²)/k; the proof gives (γb² − ‖f‖²)/k. Let us look at one dimension.

# %%
import itertools

import numpy as np

import certiformer

points = np.array([1.0, 1.0, 1.0])
weights = np.array([0.1, 0.1, 0.1])
f, gamma, k = float(weights @ points), float(weights.sum()), 2

# %%
choices = [c for c in itertools.product(range(k + 1), repeat=3) if sum(c) <= k]
attained = min((f - np.dot(c, points) / k) ** 2 for c in choices)
both = certiformer.bound("trauger.lem3.1", gamma=gamma, b=1, f=abs(f), k=k, d=3)
print(f"f = {f:.2g}, closest average of {k} points at squared distance {attained:.4f}")
print(f"printed bound {both.printed['value'].value:.4f}, sound bound {both.sound[both.best].value:.4f}")

# %% [markdown]
# Try γ = 1/2 with k = 1: the closest average is 0 or 1, both at squared distance 1/4.

# %%
both = certiformer.bound("trauger.lem3.1", gamma=0.5, b=1, f=0.5, k=1, d=1)
print(f"attained 0.25, printed {both.printed['value'].value}, sound {both.sound[both.best].value:.6f}")
assert both.printed["value"].value < 0.25 <= both.sound[both.best].value
