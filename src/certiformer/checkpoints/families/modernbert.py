"""ModernBERT: pre-norm (none before the first attention), rotations, gated blocks, a head with a norm of its own."""

from dataclasses import replace

from certiformer.checkpoints.families._table import RAMP, Family, bare_end, classifier_end, linear, norm, table
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import (
    Architecture,
    Attention,
    Block,
    Dense,
    End,
    FeedForward,
    Half,
    Norm,
    Tables,
)


def architecture(keys: Keys, depth: int | None) -> Architecture:
    before = Norm("layer_norm", keys.eps("norm_eps", default=1e-5), shift=keys.flag("norm_bias", False))
    width = keys.count("hidden_size", role="output")
    heads = keys.heads("num_attention_heads")
    size = keys.head_size(width, heads)
    biases = ("query", "key", "value", "output") if keys.flag("attention_bias", False) else ()
    attention = Attention(heads, heads, size, size**-0.5 * keys.rotation(), rotary=True, biases=biases)
    activation = keys.activation("hidden_activation", default="gelu")
    hidden = keys.count("intermediate_size", role="down", axis=1)
    shifts = ("gate", "up", "down") if keys.flag("mlp_bias", False) else ()
    feed_forward = Half(FeedForward(hidden, activation, gated=True, biases=shifts), before)
    blocks = tuple(
        Block(str(n), (Half(attention, before if n else None), feed_forward))
        for n in range(keys.layers("num_hidden_layers", depth=depth))
    )
    positions = keys.count("max_position_embeddings", default=8192)
    words = keys.count("vocab_size", role="word")
    source = Tables(width, positions, {"word": words}, norm=before)
    return Architecture(width, source, blocks, _end(keys, width, words, before))


def _end(keys: Keys, width: int, words: int, norm: Norm) -> End:
    pooling = keys.take("classifier_pooling")
    activation = keys.activation("classifier_activation", default="gelu")
    dense = Dense("classifier.dense", width, activation, norm, bias=keys.flag("classifier_bias", False))
    shift = keys.flag("decoder_bias", True)
    tied, head = keys.tied(True), keys.head("classifier")
    if head in ("classifier", "tokens"):
        found = classifier_end(keys.classes(), norm, (dense,), bias=True)
        return replace(found, pool="mean") if pooling == "mean" else found
    if head == "masked" or keys.has("classifier.dense"):
        role, bias = "word" if tied else "masked.head", "masked.head.bias" if shift else ""
        return End(norm, dense=(dense,), role=role, classes=words, bias=bias, loss=RAMP)
    return bare_end(norm)


FAMILY = Family(
    key="modernbert",
    title="ModernBERT",
    model_types=("modernbert",),
    prefixes=("model.",),
    architecture=architecture,
    rows=(
        table("embeddings.tok_embeddings", "word"),
        norm("embeddings.norm", "embedding.norm"),
        norm("layers.{n}.attn_norm", "attention.norm"),
        linear("layers.{n}.attn.Wqkv", "qkv"),
        linear("layers.{n}.attn.Wo", "output"),
        norm("layers.{n}.mlp_norm", "feedforward.norm"),
        linear("layers.{n}.mlp.Wi", "gate_up"),
        linear("layers.{n}.mlp.Wo", "down"),
        norm("final_norm", "final.norm"),
        linear("head.dense", "classifier.dense"),
        norm("head.norm", "classifier.norm"),
        linear("classifier", "classifier"),
        linear("decoder", "masked.head"),
    ),
)
