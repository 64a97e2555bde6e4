"""Is the new model better? Two models on the same items.

The difference with an interval that is valid for any loss in a known range, and the exact sign test.
"""

# %%
import numpy as np

from certiformer.evaluation import paired_limits, plan_pairs, sign_test

random = np.random.default_rng(3)
hard = random.random(1500)
old = (hard > 0.88).astype(float)
new = (hard + 0.05 * random.standard_normal(1500) > 0.92).astype(float)

# %%
limits = paired_limits(old, new, delta=0.05)
only_old, only_new = int(np.sum((old == 1) & (new == 0))), int(np.sum((old == 0) & (new == 1)))
test = sign_test(only_old, only_new)
print(f"error rates {old.mean():.3f} and {new.mean():.3f}")
print(f"difference {limits.mean:.4f}, between {limits.lower:.4f} and {limits.upper:.4f} with confidence 95 %")
print(f"wrong only before: {only_old}, only now: {only_new}; exact two-sided p = {test.two_sided:.2g}")

# %% [markdown]
# Both models must have been fixed before either was scored on these items. How many items would tell them apart at all?

# %%
print(plan_pairs(only_old / 1500, only_new / 1500))
