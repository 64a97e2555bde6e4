"""The families, one per file; adding one is that file and its line here."""

from certiformer.checkpoints.families import (
    albert,
    bert,
    distilbert,
    gemma,
    gpt2,
    gpt_neox,
    llama,
    modernbert,
    phi,
    timm,
    torch_encoder,
    vit,
)
from certiformer.checkpoints.families._table import COMMON_PREFIXES, Family, Row

__all__ = ["COMMON_PREFIXES", "FAMILIES", "REFUSED", "Family", "Row"]

FAMILIES: tuple[Family, ...] = (
    bert.FAMILY,
    distilbert.FAMILY,
    albert.FAMILY,
    modernbert.FAMILY,
    gpt2.FAMILY,
    gpt_neox.FAMILY,
    llama.FAMILY,
    llama.OLMO,
    gemma.FAMILY,
    gemma.SECOND,
    phi.FAMILY,
    vit.FAMILY,
    timm.FAMILY,
    torch_encoder.FAMILY,
)

_ROUTED = "chooses experts by top-k routing, which is not continuous at ties: no rule bounds it"
_MIXTURES = (
    "mixtral qwen2_moe qwen3_moe qwen2moe qwen3moe deepseek_v2 deepseek_v3 olmoe gpt_oss llama4 phimoe granitemoe"
)
REFUSED: dict[str, str] = dict.fromkeys(_MIXTURES.split(), _ROUTED)
"""Model types whose names would fit a table although they compute something else, with what that is."""
