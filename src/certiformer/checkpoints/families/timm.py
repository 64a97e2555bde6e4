"""ViT as timm stores it: the same network, q, k, v fused by rows; nothing beside the tensors says what there is."""

from certiformer.checkpoints.families._table import Family, bare, bare_end, classifier_end, layer_norm, linear, norm
from certiformer.checkpoints.families.vit import patches, pre_norm
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Block


def architecture(keys: Keys, depth: int | None) -> Architecture:
    width = keys.count(role="output")
    activation = keys.activation(default="gelu")
    halves = pre_norm(keys, width, activation, 1e-6, qkv=keys.has("qkv.bias"), scaled=keys.has("attention.scale"))
    blocks = tuple(Block(str(n), halves) for n in range(depth or 1))
    tokens = tuple(name for name in ("class_token", "distillation_token") if keys.has(name))
    end = bare_end(layer_norm(1e-6))
    if keys.has("classifier"):
        end = classifier_end(keys.classes(), layer_norm(1e-6), bias=True)
    return Architecture(width, patches(keys, tokens), blocks, end)


FAMILY = Family(
    key="vit.timm",
    title="ViT (timm)",
    model_types=(),
    prefixes=("model.",),
    architecture=architecture,
    rows=(
        bare("cls_token", "class_token"),
        bare("dist_token", "distillation_token"),
        bare("pos_embed", "position"),
        linear("patch_embed.proj", "patch"),
        norm("blocks.{n}.norm1", "attention.norm"),
        linear("blocks.{n}.attn.qkv", "qkv"),
        linear("blocks.{n}.attn.proj", "output"),
        bare("blocks.{n}.ls1.gamma", "attention.scale"),
        norm("blocks.{n}.norm2", "feedforward.norm"),
        linear("blocks.{n}.mlp.fc1", "up"),
        linear("blocks.{n}.mlp.fc2", "down"),
        bare("blocks.{n}.ls2.gamma", "feedforward.scale"),
        norm("norm", "final.norm"),
        linear("head", "classifier"),
    ),
)
