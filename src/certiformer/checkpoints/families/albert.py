"""ALBERT: one layer used num_hidden_layers times, so its weights are tied; a narrow table and a map to the width."""

from certiformer.checkpoints.families._table import ENCODER_CONFIG, Family, bare, buffer, linear, norm, table

LAYER = "encoder.albert_layer_groups.{n}.albert_layers.{i}."

FAMILY = Family(
    key="albert",
    title="ALBERT",
    model_types=("albert",),
    prefixes=("albert.",),
    shared_layers=True,
    rows=(
        table("embeddings.word_embeddings", "word"),
        table("embeddings.position_embeddings", "position"),
        table("embeddings.token_type_embeddings", "type"),
        norm("embeddings.LayerNorm", "embedding.norm"),
        linear("encoder.embedding_hidden_mapping_in", "embedding.map"),
        linear(LAYER + "attention.query", "query"),
        linear(LAYER + "attention.key", "key"),
        linear(LAYER + "attention.value", "value"),
        linear(LAYER + "attention.dense", "output"),
        norm(LAYER + "attention.LayerNorm", "attention.norm"),
        linear(LAYER + "ffn", "up"),
        linear(LAYER + "ffn_output", "down"),
        norm(LAYER + "full_layer_layer_norm", "feedforward.norm"),
        linear("pooler", "pooler"),
        linear("classifier", "classifier"),
        linear("predictions.dense", "masked.dense"),
        norm("predictions.LayerNorm", "masked.norm"),
        linear("predictions.decoder", "masked.head"),
        bare("predictions.bias", "masked.shift"),
        linear("sop_classifier.classifier", "next_sentence"),
        *buffer("embeddings.position_ids"),
    ),
    config=ENCODER_CONFIG,
    defaults={"eps": 1e-12, "activation": "gelu_new"},
)
