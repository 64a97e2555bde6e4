"""Sparse majority: the task of Trauger and Tewari's experiment, as it was run and in a clean variant."""

from __future__ import annotations

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from certiformer.lab.models._base import check_choice, check_count
from certiformer.lab.models._draws import array, generators
from certiformer.lab.tasks._task import Dataset, Task
from certiformer.theory.core.errors import InputError

VARIANTS = ("released", "clean")


class SparseMajority(eqx.Module):
    """Bits S_1, ..., S_T, fair and independent; the label is 1 if most of those in the index set I are 1, else 0.

    `table` holds every token that occurs: row j is a zero at position j, row T + j a one at position j, row 2T the
    CLS token, which stands last (position T). `index_set` has |I| entries, odd, so there are no ties and the two
    classes have probability 1/2 each. The label is a function of the input: the Bayes risk is zero.
    """

    table: Float[Array, "2*T+1 d"]
    index_set: Int[Array, " relevant"]

    @classmethod
    def draw(
        cls,
        key: PRNGKeyArray,
        *,
        tokens: int = 20,
        relevant: int = 9,
        d: int = 64,
        variant: str = "released",
        dtype: Any = jnp.float32,
    ) -> Self:
        """Draw an index set and embeddings.

        `released`, as the experiment's program has it: three vectors uniform on [-1, 1]^d for zero, one and CLS,
        orthogonalised in this order, each divided by its l1 norm; then, at position j, coordinate i gains
        sin(j / 10000^(i/d)) for even i and cos(j / 10000^(i/d)) for odd i (so a sine and its cosine differ in
        frequency). Tokens end up with an l2 norm of 5 to 6 for d = 64, although the embeddings alone have 0.15.

        `clean`: three orthonormal vectors; the encoding of Vaswani et al., where coordinates 2i and 2i + 1 share the
        frequency 10000^(-2i/d), scaled to norm at most 1; and the sum divided by 2, so that every token lies in the
        unit ball.
        """
        for name, value in (("tokens", tokens), ("relevant", relevant), ("d", d)):
            check_count(name, value)
        check_choice("variant", variant, VARIANTS)
        if relevant % 2 == 0 or relevant > tokens:
            raise InputError("relevant", relevant, f"an odd number of at most tokens = {tokens}")
        if d < 3:
            raise InputError("d", d, "at least 3, for three orthogonal embeddings")
        rng_index, rng_embedding = generators(key, 2)
        index_set = np.sort(rng_index.permutation(tokens)[:relevant])
        orthogonal = gram_schmidt(rng_embedding.uniform(-1.0, 1.0, (3, d)))
        position = positional_encoding(tokens + 1, d, paired=variant == "clean")
        if variant == "released":
            zero, one, cls_token = orthogonal / np.sum(np.abs(orthogonal), axis=1, keepdims=True)
        else:
            zero, one, cls_token = 0.5 * orthogonal / np.linalg.norm(orthogonal, axis=1, keepdims=True)
            position = 0.5 * position / np.sqrt((d + 1) // 2)
        rows = [zero + position[:tokens], one + position[:tokens], (cls_token + position[tokens])[None]]
        return cls(array(np.concatenate(rows), dtype), jnp.asarray(index_set, jnp.int32))

    @property
    def tokens(self) -> int:
        """T, the number of bits; an example has T + 1 rows."""
        return (self.table.shape[0] - 1) // 2

    @eqx.filter_jit
    def labels(self, bits: Int[Array, "n T"]) -> Int[Array, " n"]:
        """1 where more than half of the bits in the index set are 1, else 0."""
        return (2 * jnp.sum(bits[:, self.index_set], axis=1) > self.index_set.shape[0]).astype(jnp.int32)

    @eqx.filter_jit
    def embed(self, bits: Int[Array, "n T"]) -> Float[Array, "n T+1 d"]:
        """The tokens of each sequence, and CLS in the last row."""
        T = self.tokens
        rows = jnp.arange(T) + T * bits.astype(jnp.int32)
        return self.table[jnp.pad(rows, ((0, 0), (0, 1)), constant_values=2 * T)]

    def sample_bits(self, key: PRNGKeyArray, n: int) -> Int[Array, "n T"]:
        """n sequences of fair bits; at T = 200 they take 1/256 of the memory of their embeddings."""
        return jnp.asarray(generators(key, 1)[0].integers(0, 2, (n, self.tokens), np.int8))

    def sample(self, key: PRNGKeyArray, n: int) -> Dataset:
        """n independent examples, with their bits in `meta`."""
        bits = self.sample_bits(key, n)
        return Dataset(self.embed(bits), self.labels(bits), {"bits": bits})


def sparse_majority(
    key: PRNGKeyArray,
    *,
    n: int = 300,
    n_test: int = 10_000,
    tokens: int = 20,
    relevant: int = 9,
    d: int = 64,
    variant: str = "released",
    embedded: bool = True,
    dtype: Any = jnp.float32,
) -> Task:
    """One run of the experiment: a fresh index set and embeddings, n training and n_test validation examples.

    Labels are classes 0 and 1. With `embedded=False` inputs are the bits (`source.embed` turns them into tokens).
    """
    check_count("n", n)
    check_count("n_test", n_test)
    key_source, key_train, key_test = jax.random.split(key, 3)
    source = SparseMajority.draw(key_source, tokens=tokens, relevant=relevant, d=d, variant=variant, dtype=dtype)

    def dataset(part: PRNGKeyArray, size: int) -> Dataset:
        if embedded:
            return source.sample(part, size)
        bits = source.sample_bits(part, size)
        return Dataset(bits, source.labels(bits), {"bits": bits})

    return Task(
        name="sparse_majority",
        train=dataset(key_train, n),
        test=dataset(key_test, n_test),
        labels="classes",
        risk="zero-one",
        bayes_risk=0.0,
        source=source,
    )


def gram_schmidt(rows: Float[np.ndarray, "count d"]) -> Float[np.ndarray, "count d"]:
    """Each row minus its projections on the rows before it."""
    done: list[Float[np.ndarray, " d"]] = []
    for row in rows:
        rest = row
        for other in done:
            rest = rest - (rest @ other) / (other @ other) * other
        done.append(rest)
    return np.stack(done)


def positional_encoding(rows: int, d: int, *, paired: bool) -> Float[np.ndarray, "rows d"]:
    """sin on even and cos on odd coordinates, of j / 10000^(e_i / d) at position j.

    `paired`: e_i = 2 floor(i/2) as in Vaswani et al.; otherwise e_i = i.
    """
    i, j = np.arange(d), np.arange(rows)[:, None]
    angle = j / 10000.0 ** ((i - i % 2 if paired else i) / d)
    return np.where(i % 2 == 0, np.sin(angle), np.cos(angle))
