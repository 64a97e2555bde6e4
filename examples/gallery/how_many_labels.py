"""How many labels? Plans before the data are spent.

The chance that a certificate succeeds, as a function of the number of labels.
"""

# %%
import numpy as np
from matplotlib.figure import Figure

from certiformer.evaluation import plan_errors, success_curve

for expect in (0.0, 0.005, 0.01):
    plan = plan_errors(0.02, 0.05, expect)
    print(f"expected rate {expect:.3f}: label {plan.n}, at most {plan.errors} errors, chance {plan.power:.2f}")

# %%
sizes = np.arange(100, 1600, 20)
figure = Figure(figsize=(6.4, 3.4), layout="constrained")
axes = figure.subplots()
for expect in (0.002, 0.005, 0.01):
    axes.plot(sizes, success_curve(0.02, 0.05, expect, sizes), label=f"true error rate {100 * expect:g} %")
axes.set(xlabel="labels", ylabel="chance of 'at most 2 %, confidence 95 %'", ylim=(0, 1))
axes.legend()

# %% [markdown]
# The saw-tooth is real: one label more may change nothing or cost a little, one more *allowed error* jumps.
