"""BERT, RoBERTa, MiniLM and others of their shape: post-norm, learnt positions, out x in."""

from certiformer.checkpoints.families._table import Family, bare, buffer, encoder_end, layer_norm, linear, norm, table
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import (
    Architecture,
    Attention,
    Block,
    End,
    FeedForward,
    Half,
    Norm,
    Tables,
)

ALL = ("query", "key", "value", "output", "gate", "up", "down")
"""Every map has a bias."""


def post_norm(keys: Keys, width: int, heads: int, hidden: int, activation: str, after: Norm) -> tuple[Half, Half]:
    """Attention and feed-forward with biases, each normalised behind its residual connection."""
    size = keys.head_size(width, heads)
    attention = Attention(heads, heads, size, size**-0.5, biases=ALL)
    return Half(attention, after=after), Half(FeedForward(hidden, activation, biases=ALL), after=after)


def tables(keys: Keys, dimension: int, norm: Norm, *, types: bool = True, mapped: bool = False) -> Tables:
    """Words, learnt positions and, where there are any, types of tokens."""
    positions = keys.count("max_position_embeddings", role="position")
    entries = {"word": keys.count("vocab_size", role="word"), "position": positions}
    if types and keys.config.get("type_vocab_size") == 0:
        keys.take("type_vocab_size")
    elif types and (keys.shape is None or keys.has("type") or "type_vocab_size" in keys.config):
        entries["type"] = keys.count("type_vocab_size", role="type", default=2)
    return Tables(dimension, positions, entries, norm=norm, mapped=mapped)


def architecture(keys: Keys, depth: int | None) -> Architecture:
    after = layer_norm(keys.eps("layer_norm_eps", default=1e-12))
    activation = keys.activation("hidden_act", default="gelu")
    width = keys.count("hidden_size", role="output")
    hidden = keys.count("intermediate_size", role="down", axis=1)
    heads = keys.heads("num_attention_heads")
    halves = post_norm(keys, width, heads, hidden, activation, after)
    blocks = tuple(Block(str(n), halves) for n in range(keys.layers("num_hidden_layers", depth=depth)))
    electra = keys.kind == "electra"
    dimension = keys.count("embedding_size", role="word", axis=1, default=width) if electra else width
    source = tables(keys, dimension, after, mapped=dimension != width)
    end: End = encoder_end(
        keys,
        width,
        source,
        pooler="" if electra else "tanh",
        dense="" if keys.kind == "bert" else "gelu" if electra else "tanh",
        masked="" if electra else activation if keys.kind in ("bert", "") else "gelu",
        norm=after,
    )
    return Architecture(width, source, blocks, end)


FAMILY = Family(
    key="bert",
    title="BERT",
    model_types=("bert", "roberta", "xlm-roberta", "camembert", "electra"),
    prefixes=("bert.", "roberta.", "electra."),
    architecture=architecture,
    rows=(
        table("embeddings.word_embeddings", "word"),
        table("embeddings.position_embeddings", "position"),
        table("embeddings.token_type_embeddings", "type"),
        norm("embeddings.LayerNorm", "embedding.norm"),
        linear("embeddings_project", "embedding.map"),
        linear("encoder.layer.{n}.attention.self.query", "query"),
        linear("encoder.layer.{n}.attention.self.key", "key"),
        linear("encoder.layer.{n}.attention.self.value", "value"),
        linear("encoder.layer.{n}.attention.output.dense", "output"),
        norm("encoder.layer.{n}.attention.output.LayerNorm", "attention.norm"),
        linear("encoder.layer.{n}.intermediate.dense", "up"),
        linear("encoder.layer.{n}.output.dense", "down"),
        norm("encoder.layer.{n}.output.LayerNorm", "feedforward.norm"),
        linear("pooler.dense", "pooler"),
        linear("classifier", "classifier"),
        linear("classifier.dense", "classifier.dense"),
        linear("classifier.out_proj", "classifier"),
        linear("qa_outputs", "classifier"),
        linear("cls.predictions.transform.dense", "masked.dense"),
        norm("cls.predictions.transform.LayerNorm", "masked.norm"),
        linear("cls.predictions.decoder", "masked.head"),
        bare("cls.predictions.bias", "masked.shift"),
        linear("cls.seq_relationship", "next_sentence"),
        linear("lm_head.dense", "masked.dense"),
        norm("lm_head.layer_norm", "masked.norm"),
        linear("lm_head.decoder", "masked.head"),
        bare("lm_head.bias", "masked.shift"),
        *buffer("embeddings.position_ids", "embeddings.token_type_ids"),
    ),
)
