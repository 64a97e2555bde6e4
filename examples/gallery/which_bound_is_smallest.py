"""Which bound is smallest here? Results side by side.

Results that bound the same quantity, at one setting and along the sample size.
"""

# %%
from certiformer.report.comparison import compare_results, comparison_figure
from certiformer.theory.core.sweeping import parse_sweep

given = {"Bw": "1", "Bc": "2", "L_sigma": "1", "Bv": "1.5", "Bx": "1", "C": "0.5", "BQK": "0.5", "d": "64"}
found = compare_results(["trauger.thm4.1", "trauger.cor4.1.1"], given, parse_sweep("n=1e4:1e8:5"))
for quantity, rows in found.by_quantity().items():
    print(quantity)
    for row in rows:
        print(f"  {row.id:18} sound {row.sound:>10}  printed {row.printed:>10}  variant {row.variant}")
    print("  smallest:", found.best(quantity))

# %%
figure = comparison_figure(found)

# %% [markdown]
# The numbers in the table are those at the end of the range. From the shell it is
# `certiformer compare trauger.thm4.1 trauger.cor4.1.1 Bw=1 ... --sweep n=1e4:1e8:5 --plot out.png`.
