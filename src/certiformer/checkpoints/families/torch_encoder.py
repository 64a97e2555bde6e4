"""torch.nn.TransformerEncoder: heads, activation and norm_first are not in the file and have to be said."""

from certiformer.checkpoints.families._table import Family, bare, linear, norm

FAMILY = Family(
    key="torch.encoder",
    title="nn.TransformerEncoder",
    model_types=(),
    prefixes=("encoder.", "transformer_encoder.", "transformer.", "model."),
    inputs="tokens",
    rows=(
        bare("layers.{n}.self_attn.in_proj_weight", "qkv"),
        bare("layers.{n}.self_attn.in_proj_bias", "qkv.bias"),
        linear("layers.{n}.self_attn.out_proj", "output"),
        linear("layers.{n}.linear1", "up"),
        linear("layers.{n}.linear2", "down"),
        norm("layers.{n}.norm1", "attention.norm"),
        norm("layers.{n}.norm2", "feedforward.norm"),
        norm("norm", "final.norm"),
    ),
    config={"heads": ("nhead", "num_heads"), "activation": ("activation",), "norm_first": ("norm_first",)},
    defaults={"eps": 1e-5, "positions": 512},
)
