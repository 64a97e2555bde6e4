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
