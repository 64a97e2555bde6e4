"""Answer where it is certified, abstain elsewhere.

A threshold on the model's confidence with a guarantee for the error among the answered.
"""

# %%
import numpy as np

from certiformer.evaluation import choose_threshold

random = np.random.default_rng(11)
confidence = random.beta(4, 1.5, size=3000)
errors = (random.random(3000) > 0.5 + 0.5 * confidence**0.5).astype(int)
print(f"answering everything: error rate {errors.mean():.3f}")

# %%
for alpha in (0.06, 0.05, 0.04):
    found = choose_threshold(confidence, errors, alpha, 0.05)
    if found.threshold is None:
        print(f"at most {alpha:.0%}: no threshold can be certified")
    else:
        low, high = found.coverage
        print(
            f"at most {alpha:.0%}: answer at confidence {found.threshold:.3f} or more, "
            f"{found.answered} of {found.n} answered, between {low:.0%} and {high:.0%} of new examples"
        )
