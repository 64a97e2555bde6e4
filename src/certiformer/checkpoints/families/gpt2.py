"""GPT-2: pre-norm, Conv1D stored in x out, q, k, v fused; the head is the word table."""

from certiformer.checkpoints.families._table import Family, buffer, conv1d, decoder_end, layer_norm, norm, table
from certiformer.checkpoints.families.bert import ALL
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Tables


def architecture(keys: Keys, depth: int | None) -> Architecture:
    before = layer_norm(keys.eps("layer_norm_epsilon", default=1e-5))
    width = keys.count("n_embd", "hidden_size", role="output")
    heads = keys.heads("n_head", "num_attention_heads")
    size = keys.head_size(width, heads)
    scale = size**-0.5 if keys.flag("scale_attn_weights", True) else 1.0
    by_layer = keys.flag("scale_attn_by_inverse_layer_idx", False)
    activation = keys.activation("activation_function", default="gelu_new")
    hidden = keys.count("n_inner", role="down", axis=1, default=4 * width)
    feed_forward = Half(FeedForward(hidden, activation, biases=ALL), before)

    def block(n: int) -> Block:
        attention = Attention(heads, heads, size, scale / (n + 1) if by_layer else scale, biases=ALL)
        return Block(str(n), (Half(attention, before), feed_forward))

    blocks = tuple(block(n) for n in range(keys.layers("n_layer", "num_hidden_layers", depth=depth)))
    positions, words = keys.count("n_positions", role="position"), keys.count("vocab_size", role="word")
    source = Tables(width, positions, {"word": words, "position": positions})
    return Architecture(width, source, blocks, decoder_end(keys, words, before, tied=True))


FAMILY = Family(
    key="gpt2",
    title="GPT-2",
    model_types=("gpt2",),
    prefixes=("transformer.",),
    architecture=architecture,
    rows=(
        table("wte", "word"),
        table("wpe", "position"),
        norm("h.{n}.ln_1", "attention.norm"),
        conv1d("h.{n}.attn.c_attn", "qkv"),
        conv1d("h.{n}.attn.c_proj", "output"),
        norm("h.{n}.ln_2", "feedforward.norm"),
        conv1d("h.{n}.mlp.c_fc", "up"),
        conv1d("h.{n}.mlp.c_proj", "down"),
        norm("ln_f", "final.norm"),
        table("lm_head", "head"),
        table("score", "classifier"),
        *buffer("h.{n}.attn.bias", "h.{n}.attn.masked_bias"),
    ),
)
