"""ViT as timm stores it: the same network, q, k, v fused by rows."""

from certiformer.checkpoints.families._table import Family, bare, linear, norm

FAMILY = Family(
    key="vit.timm",
    title="ViT (timm)",
    model_types=(),
    prefixes=("model.",),
    normalisation="pre",
    inputs="patches",
    rows=(
        bare("cls_token", "class_token"),
        bare("pos_embed", "position"),
        linear("patch_embed.proj", "patch"),
        norm("blocks.{n}.norm1", "attention.norm"),
        linear("blocks.{n}.attn.qkv", "qkv"),
        linear("blocks.{n}.attn.proj", "output"),
        norm("blocks.{n}.norm2", "feedforward.norm"),
        linear("blocks.{n}.mlp.fc1", "up"),
        linear("blocks.{n}.mlp.fc2", "down"),
        norm("norm", "final.norm"),
        linear("head", "classifier"),
    ),
    config={"heads": ("num_heads",)},
    defaults={"eps": 1e-6, "activation": "gelu"},
)
