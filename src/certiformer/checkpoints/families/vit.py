"""ViT and DeiT as Hugging Face stores them: pre-norm, patches through a convolution, trained tokens before them."""

import math

from certiformer.checkpoints.families._table import (
    Family,
    bare,
    bare_end,
    classifier_end,
    layer_norm,
    linear,
    norm,
)
from certiformer.checkpoints.families.bert import ALL
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Patches


def patches(keys: Keys, tokens: tuple[str, ...]) -> Patches:
    """Patches of images as the settings say, else as the tensors are; a pixel is in [-1, 1]."""
    patch, image, channels = (
        _sides(keys, "patch_size"),
        _sides(keys, "image_size"),
        keys.count("num_channels", default=3),
    )
    dimension = keys.count(role="patch", axis=1, default=1) if patch is None else channels * math.prod(patch)
    if patch is None or image is None:
        count = keys.count(role="position", default=1 + len(tokens)) - len(tokens)
    else:
        count = math.prod(side // one for side, one in zip(image, patch, strict=True))
    radius = keys.given.get("input_radius") or float(dimension) ** 0.5
    return Patches(dimension, max(1, count), radius, tokens=tokens)


def _sides(keys: Keys, name: str) -> tuple[int, int] | None:
    """Height and width: one count for both, or two."""
    value = keys.take(name)
    if value is None and keys.shape is not None:
        return None
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, int) and one > 0 for one in value):
        return value[0], value[1]
    side = keys.count(name)
    return side, side


def pre_norm(keys: Keys, width: int, activation: str, eps: float, *, qkv: bool, scaled: bool) -> tuple[Half, Half]:
    """Attention and feed-forward, each normalised before it, LayerScale behind it where there is one."""
    before, heads = layer_norm(eps), keys.heads("num_attention_heads", "num_heads")
    hidden = keys.count("intermediate_size", role="down", axis=1)
    size = keys.head_size(width, heads)
    attention = Attention(heads, heads, size, size**-0.5, biases=ALL if qkv else ("output",))
    return (
        Half(attention, before, layer_scale=scaled),
        Half(FeedForward(hidden, activation, biases=ALL), before, layer_scale=scaled),
    )


def architecture(keys: Keys, depth: int | None) -> Architecture:
    width = keys.count("hidden_size", role="output")
    eps = keys.eps("layer_norm_eps", default=1e-12)
    activation = keys.activation("hidden_act", default="gelu")
    halves = pre_norm(keys, width, activation, eps, qkv=keys.flag("qkv_bias", True), scaled=False)
    blocks = tuple(Block(str(n), halves) for n in range(keys.layers("num_hidden_layers", depth=depth)))
    source = patches(keys, ("class_token", "distillation_token") if keys.kind == "deit" else ("class_token",))
    end = bare_end(layer_norm(eps))
    if keys.head("classifier"):
        end = classifier_end(keys.classes(), layer_norm(eps), bias=True)
    return Architecture(width, source, blocks, end)


FAMILY = Family(
    key="vit",
    title="ViT",
    model_types=("vit", "deit"),
    prefixes=("vit.", "deit."),
    architecture=architecture,
    rows=(
        bare("embeddings.cls_token", "class_token"),
        bare("embeddings.distillation_token", "distillation_token"),
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
)
