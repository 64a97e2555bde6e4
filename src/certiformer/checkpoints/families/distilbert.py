"""DistilBERT: BERT's block with other names, no token types, no pooler."""

from certiformer.checkpoints.families._table import Family, buffer, linear, norm, table

FAMILY = Family(
    key="distilbert",
    title="DistilBERT",
    model_types=("distilbert",),
    prefixes=("distilbert.",),
    dense="relu",
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
    config={"heads": ("n_heads",), "layers": ("n_layers",), "activation": ("activation",)},
    defaults={"eps": 1e-12, "activation": "gelu"},
)
