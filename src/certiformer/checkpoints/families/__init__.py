"""The families, one table per file; adding one is that file and its line here."""

from certiformer.checkpoints.families import albert, bert, distilbert, gpt2, llama, timm, torch_encoder, vit
from certiformer.checkpoints.families._table import COMMON_PREFIXES as COMMON_PREFIXES
from certiformer.checkpoints.families._table import Family as Family
from certiformer.checkpoints.families._table import Row as Row

FAMILIES: tuple[Family, ...] = (
    bert.FAMILY,
    distilbert.FAMILY,
    albert.FAMILY,
    gpt2.FAMILY,
    llama.FAMILY,
    vit.FAMILY,
    timm.FAMILY,
    torch_encoder.FAMILY,
)

_ROUTED = "chooses experts by top-k routing, which jumps at ties: no rule bounds it"
_GEMMA = "stores gains minus one and scales its embeddings; `certiformer compose config.json` knows its layers"
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            "mixtral",
            "qwen2_moe",
            "qwen3_moe",
            "qwen2moe",
            "qwen3moe",
            "deepseek_v2",
            "deepseek_v3",
            "olmoe",
            "gpt_oss",
            "llama4",
        ),
        _ROUTED,
    ),
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gemma3_text"), _GEMMA),
}
"""Model types whose names would fit a table although they compute something else, with what that is."""
