"""Attack a claim, and check the counterexample again.

The audit looks for an instance that attains more than a claim allows; what it finds is data that anybody can measure.
"""

# %%
import certiformer
from certiformer.auditing.runner import recheck

audit = certiformer.audit("trauger.lem3.1", seed=0, budget=0.5, workers=1)
for verdict in audit.verdicts:
    print(f"{verdict.claim.version}: {verdict.outcome}, attained {verdict.attained:.4g}, bound {verdict.bound:.4g}")

# %% [markdown]
# The counterexample is measured again, by other code, in plain numpy:

# %%
example = audit.of("trauger.lem3.1", "printed").counterexample
again = recheck({"id": "trauger.lem3.1", "version": "printed", "attack": example.attack, "data": example.data})
print(again.outcome, f"{again.attained:.4g} > {again.bound:.4g}")
