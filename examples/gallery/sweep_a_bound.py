"""A bound along a range: arrays, CSV, a figure.

One or two inputs of a result may be arrays. What comes back has every variant as an array, and knows where it applies.
"""

# %%
import numpy as np
from matplotlib.figure import Figure

import certiformer

n = np.geomspace(1e3, 1e9, 7)
along = certiformer.bound("trauger.thm4.1", Bw=1, Bc=2, L_sigma=1, Bv=1.5, Bx=1, C=0.5, n=n, d=64)
print(along.to_csv())

# %% [markdown]
# `along.to_frame()` is a pandas data frame where pandas is installed. A figure of the printed value beside
# the best sound one:

# %%
figure = Figure(figsize=(6.4, 3.6), layout="constrained")
axes = figure.subplots()
axes.loglog(n, along.printed["value"], "--", label="as printed")
axes.loglog(n, along.best, label="best sound variant that applies")
axes.set(xlabel="n", ylabel="Rademacher complexity")
axes.legend()

# %% [markdown]
# Two inputs at once give a grid:

# %%
grid = certiformer.bound("trauger.lem3.6", Bw=1, Bx=1, eps=np.array([0.1, 0.5]), d=np.array([16, 64, 256]), k=4)
print("shape", grid.shape)
print(np.round(grid.best, 1))
