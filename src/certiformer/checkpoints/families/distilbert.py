"""DistilBERT: BERT's block with other names, no token types, no pooler."""

from certiformer.checkpoints.families._table import Family, buffer, encoder_end, layer_norm, linear, norm, table
from certiformer.checkpoints.families.bert import post_norm, tables
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Block


def architecture(keys: Keys, depth: int | None) -> Architecture:
    after = layer_norm(keys.eps(default=1e-12))
    activation = keys.activation("activation", default="gelu")
    width = keys.count("dim", role="output")
    hidden = keys.count("hidden_dim", role="down", axis=1)
    halves = post_norm(keys, width, keys.heads("n_heads"), hidden, activation, after)
    blocks = tuple(Block(str(n), halves) for n in range(keys.layers("n_layers", depth=depth)))
    source = tables(keys, width, after, types=False)
    end = encoder_end(keys, width, source, dense="relu", masked=activation, norm=after)
    return Architecture(width, source, blocks, end)


FAMILY = Family(
    key="distilbert",
    title="DistilBERT",
    model_types=("distilbert",),
    prefixes=("distilbert.",),
    architecture=architecture,
    rows=(
        table("embeddings.word_embeddings", "word"),
        table("embeddings.position_embeddings", "position"),
        norm("embeddings.LayerNorm", "embedding.norm"),
        linear("transformer.layer.{n}.attention.q_lin", "query"),
        linear("transformer.layer.{n}.attention.k_lin", "key"),
        linear("transformer.layer.{n}.attention.v_lin", "value"),
        linear("transformer.layer.{n}.attention.out_lin", "output"),
        norm("transformer.layer.{n}.sa_layer_norm", "attention.norm"),
        linear("transformer.layer.{n}.ffn.lin1", "up"),
        linear("transformer.layer.{n}.ffn.lin2", "down"),
        norm("transformer.layer.{n}.output_layer_norm", "feedforward.norm"),
        linear("pre_classifier", "classifier.dense"),
        linear("classifier", "classifier"),
        linear("qa_outputs", "classifier"),
        linear("vocab_transform", "masked.dense"),
        norm("vocab_layer_norm", "masked.norm"),
        linear("vocab_projector", "masked.head"),
        *buffer("embeddings.position_ids"),
    ),
)
