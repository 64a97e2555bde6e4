"""torch.nn.TransformerEncoder: heads, activation and norm_first are not in the file and have to be said."""

from certiformer.checkpoints.families._table import Family, bare, bare_end, linear, norm
from certiformer.checkpoints.families.bert import ALL
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Norm, Tokens


def architecture(keys: Keys, depth: int | None) -> Architecture:
    biases = ALL if keys.has("qkv.bias") else ()
    each = Norm("layer_norm", keys.eps("layer_norm_eps", default=1e-5), shift=bool(biases))
    width = keys.count("d_model", role="output")
    heads = keys.heads("nhead", "num_heads")
    activation = keys.activation("activation", default=None)
    first = keys.given.get("norm_first")
    first = keys.take("norm_first") if first is None else first
    if not isinstance(first, bool):
        raise keys.asked("norm_first", "--norm-first or --norm-last")
    hidden = keys.count("dim_feedforward", role="down", axis=1)
    size = keys.head_size(width, heads)
    maps = (Attention(heads, heads, size, size**-0.5, biases=biases), FeedForward(hidden, activation, biases=biases))
    halves = tuple(Half(one, before=each) if first else Half(one, after=each) for one in maps)
    radius = keys.given.get("input_radius") or width**0.5
    end = bare_end(each if keys.has("final.norm.gain") else None)
    blocks = tuple(Block(str(n), halves) for n in range(depth or 1))
    return Architecture(width, Tokens(width, keys.count("positions", default=512), radius), blocks, end)


FAMILY = Family(
    key="torch.encoder",
    title="nn.TransformerEncoder",
    model_types=(),
    prefixes=("encoder.", "transformer_encoder.", "transformer.", "model."),
    architecture=architecture,
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
)
