"""Watch a stream: look as often as you like.

Limits that hold at all times at once, and an alarm that is false at most with probability delta, for ever.
"""

# %%
import numpy as np

from certiformer.evaluation import ConfidenceSequence, Monitor

random = np.random.default_rng(5)
outcomes = np.concatenate([random.random(2000) < 0.02, random.random(1000) < 0.08]).astype(int)

# %%
sequence = ConfidenceSequence(0.05, binary=True)
for start in range(0, 2000, 500):
    sequence.update(outcomes[start : start + 500])
    print(f"after {start + 500:4} outcomes: error rate between {sequence.lower:.4f} and {sequence.upper:.4f}")

# %% [markdown]
# A hold-out certificate said "at most 3 %". Does the stream still agree? The model breaks after 2,000 outcomes.

# %%
watch = Monitor(0.03, 0.05)
watch.update(outcomes)
print("alarm at outcome", watch.alarm)
