"""Gemma, Gemma 2: gains stored minus one, embeddings times the root of the width; soft caps, norms on both sides."""

import math
from dataclasses import replace

from certiformer.checkpoints.families._table import Family, decoder_end, norm
from certiformer.checkpoints.families.llama import QKV, ROWS
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Norm, Tables

ROUNDED = 1.0 + 2.0**-8
"""The factor of the embeddings is rounded to the type of the weights, bfloat16 at worst."""


def architecture(keys: Keys, depth: int | None) -> Architecture:
    second = keys.kind == "gemma2"
    before = Norm("rms_norm", keys.eps("rms_norm_eps", default=1e-6))
    width = keys.count("hidden_size", role="output")
    heads = keys.heads("num_attention_heads")
    size = keys.count("head_dim", default=256)
    scalar = keys.number("query_pre_attn_scalar", default=256.0) if second else float(size)
    if not scalar > 0.0:
        keys.expect("query_pre_attn_scalar")
    attention = Attention(
        heads,
        keys.count("num_key_value_heads", default=heads),
        size,
        scalar**-0.5 * keys.rotation(),
        rotary=True,
        cap=keys.number("attn_logit_softcapping", default=math.inf) if second else math.inf,
        biases=(*QKV, "output") if keys.flag("attention_bias", False) else (),
    )
    hidden = keys.count("intermediate_size", role="down", axis=1)
    activation = keys.activation("hidden_activation", "hidden_act", default="gelu_pytorch_tanh")
    # Old files say gelu and were run with its tanh form, whose constants are the larger ones.
    activation = "gelu_pytorch_tanh" if activation == "gelu" else activation
    inside = before if second else None
    halves = (Half(attention, before, inside), Half(FeedForward(hidden, activation, gated=True), before, inside))
    blocks = tuple(Block(str(n), halves) for n in range(keys.layers("num_hidden_layers", depth=depth)))
    words, positions = keys.count("vocab_size", role="word"), keys.count("max_position_embeddings", default=8192)
    end = decoder_end(keys, words, before, tied=True)
    cap = keys.number("final_logit_softcapping", default=math.inf) if second else math.inf
    end = replace(end, cap=cap) if end.role in ("word", "head") else end
    return Architecture(width, Tables(width, positions, {"word": words}, scale=width**0.5 * ROUNDED), blocks, end)


FAMILY = Family(
    key="gemma",
    title="Gemma",
    model_types=("gemma",),
    prefixes=("model.",),
    architecture=architecture,
    gain=1.0,
    rows=ROWS,
)
_OWN = (
    norm("layers.{n}.post_attention_layernorm", "attention.norm2"),
    norm("layers.{n}.pre_feedforward_layernorm", "feedforward.norm"),
    norm("layers.{n}.post_feedforward_layernorm", "feedforward.norm2"),
)
SECOND = replace(
    FAMILY,
    key="gemma2",
    title="Gemma 2",
    model_types=("gemma2",),
    rows=(*_OWN, *(row for row in ROWS if row.pattern != _OWN[0].pattern)),
)
