"""ViT as Hugging Face stores it: pre-norm, patches through a convolution, a trained CLS token."""

from certiformer.checkpoints.families._table import ENCODER_CONFIG, Family, bare, linear, norm

FAMILY = Family(
    key="vit",
    title="ViT",
    model_types=("vit", "deit"),
    prefixes=("vit.", "deit."),
    normalisation="pre",
    inputs="patches",
    rows=(
        bare("embeddings.cls_token", "class_token"),
        bare("embeddings.position_embeddings", "position"),
        linear("embeddings.patch_embeddings.projection", "patch"),
        norm("encoder.layer.{n}.layernorm_before", "attention.norm"),
        linear("encoder.layer.{n}.attention.attention.query", "query"),
        linear("encoder.layer.{n}.attention.attention.key", "key"),
        linear("encoder.layer.{n}.attention.attention.value", "value"),
        linear("encoder.layer.{n}.attention.output.dense", "output"),
        norm("encoder.layer.{n}.layernorm_after", "feedforward.norm"),
        linear("encoder.layer.{n}.intermediate.dense", "up"),
        linear("encoder.layer.{n}.output.dense", "down"),
        norm("layernorm", "final.norm"),
        linear("pooler.dense", "pooler"),
        linear("classifier", "classifier"),
    ),
    config=ENCODER_CONFIG,
    defaults={"eps": 1e-12, "activation": "gelu"},
)
