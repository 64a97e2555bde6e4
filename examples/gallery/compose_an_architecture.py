"""Your own architecture: what dominates its bound?

A small encoder as a graph of layers; the sensitivity of its output to every weight, and what normalisation buys.
"""

# %%
from certiformer.theory.networks import (
    GELU,
    Head,
    Network,
    Weight,
    add,
    attention,
    feed_forward,
    layer_norm,
    loss,
    pick,
    readout,
    tokens,
)


def encoder(eps):
    d = 16

    def weight(name, rows, columns, norm=1.0):
        return Weight(name, (rows, columns), frobenius=norm)

    x = tokens(d, radius=1.0, positions=8)
    for layer in range(2):
        head = Head(
            query=weight(f"Q{layer}", 8, d), key=weight(f"K{layer}", 8, d), value=weight(f"V{layer}", 8, d), scale=0.35
        )
        x = add(x, attention(layer_norm(x, eps=eps), [head], output=weight(f"O{layer}", d, 8)))
        x = add(
            x, feed_forward(layer_norm(x, eps=eps), weight(f"up{layer}", 32, d), weight(f"down{layer}", d, 32), GELU)
        )
    return loss(readout(pick(layer_norm(x, eps=eps)), Weight("w", (1, d), frobenius=1.0)), lipschitz=1.0, bound=1.0)


# %%
for eps in (1e-5, 1e-2, 1.0):
    found = Network(f"two layers, eps={eps:g}", encoder(eps), samples=10**6).compose()
    largest = max(found.analysis.coefficients.items(), key=lambda pair: pair[1].ln)
    print(f"eps = {eps:g}: most sensitive to {largest[0]}, log10 {largest[1].ln / 2.302585:.2f}; "
          f"Rademacher complexity at n = 1e6 at most {found.analysis.rademacher(10**6):.4g}")  # fmt: skip

# %% [markdown]
# The eps of LayerNorm is not a detail: it is what keeps a small token from being blown up. In a
# notebook a composition shows itself:

# %%
shown = found
