"""GPT-NeoX, Pythia: LayerNorm before both halves, which read the same input (or follow each other), rotations."""

from certiformer.checkpoints.families._table import Family, Row, buffer, decoder_end, layer_norm, linear, norm, table
from certiformer.checkpoints.families.bert import ALL
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Tables


def architecture(keys: Keys, depth: int | None) -> Architecture:
    before = layer_norm(keys.eps("layer_norm_eps", default=1e-5))
    width = keys.count("hidden_size", role="output")
    heads = keys.heads("num_attention_heads")
    size = keys.head_size(width, heads)
    biases = ALL if keys.flag("attention_bias", True) else ()
    attention = Attention(heads, heads, size, size**-0.5 * keys.rotation(), rotary=True, biases=biases)
    hidden = keys.count("intermediate_size", role="down", axis=1)
    feed_forward = FeedForward(hidden, keys.activation("hidden_act", default="gelu"), biases=ALL)
    halves = (Half(attention, before), Half(feed_forward, before))
    together = keys.flag("use_parallel_residual", True)
    blocks = tuple(
        Block(str(n), halves, parallel="two norms" if together else "")
        for n in range(keys.layers("num_hidden_layers", depth=depth))
    )
    words, positions = keys.count("vocab_size", role="word"), keys.count("max_position_embeddings", default=2048)
    source = Tables(width, positions, {"word": words})
    return Architecture(width, source, blocks, decoder_end(keys, words, before, tied=False))


FAMILY = Family(
    key="gpt_neox",
    title="GPT-NeoX",
    model_types=("gpt_neox",),
    prefixes=("gpt_neox.",),
    architecture=architecture,
    rows=(
        table("embed_in", "word"),
        norm("layers.{n}.input_layernorm", "attention.norm"),
        Row("layers.{n}.attention.query_key_value", "qkv", "linear", "by head"),
        linear("layers.{n}.attention.dense", "output"),
        norm("layers.{n}.post_attention_layernorm", "feedforward.norm"),
        linear("layers.{n}.mlp.dense_h_to_4h", "up"),
        linear("layers.{n}.mlp.dense_4h_to_h", "down"),
        norm("final_layer_norm", "final.norm"),
        table("embed_out", "head"),
        table("lm_head", "head"),
        table("score", "classifier"),
        *buffer(
            "layers.{n}.attention.bias",
            "layers.{n}.attention.masked_bias",
            "layers.{n}.attention.rotary_emb.inv_freq",
        ),
    ),
)
