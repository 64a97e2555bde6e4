"""Phi-1, 1.5, 2: one LayerNorm for both halves, which read the same input; partial rotations; a head with a bias."""

from certiformer.checkpoints.families._table import Family, buffer, decoder_end, layer_norm, linear, norm, table
from certiformer.checkpoints.families.bert import ALL
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Tables


def architecture(keys: Keys, depth: int | None) -> Architecture:
    before = layer_norm(keys.eps("layer_norm_eps", default=1e-5))
    width = keys.count("hidden_size", role="output")
    heads = keys.heads("num_attention_heads")
    key_heads, size = keys.count("num_key_value_heads", default=heads), keys.head_size(width, heads)
    attention = Attention(
        heads,
        key_heads,
        size,
        size**-0.5 * keys.rotation(),
        rotary=True,
        norm=before if keys.flag("qk_layernorm", False) else None,
        biases=ALL,
    )
    hidden = keys.count("intermediate_size", role="down", axis=1)
    feed_forward = FeedForward(hidden, keys.activation("hidden_act", default="gelu_new"), biases=ALL)
    halves = (Half(attention, before), Half(feed_forward, before))
    layers = keys.layers("num_hidden_layers", depth=depth)
    blocks = tuple(Block(str(n), halves, parallel="one norm") for n in range(layers))
    words, positions = keys.count("vocab_size", role="word"), keys.count("max_position_embeddings", default=2048)
    source = Tables(width, positions, {"word": words})
    return Architecture(width, source, blocks, decoder_end(keys, words, before, tied=False, bias=True))


FAMILY = Family(
    key="phi",
    title="Phi",
    model_types=("phi",),
    prefixes=("model.",),
    architecture=architecture,
    rows=(
        table("embed_tokens", "word"),
        norm("layers.{n}.input_layernorm", "attention.norm"),
        linear("layers.{n}.self_attn.q_proj", "query"),
        linear("layers.{n}.self_attn.k_proj", "key"),
        linear("layers.{n}.self_attn.v_proj", "value"),
        linear("layers.{n}.self_attn.dense", "output"),
        norm("layers.{n}.self_attn.q_layernorm", "query.norm"),
        norm("layers.{n}.self_attn.k_layernorm", "key.norm"),
        linear("layers.{n}.mlp.fc1", "up"),
        linear("layers.{n}.mlp.fc2", "down"),
        norm("final_layernorm", "final.norm"),
        linear("lm_head", "head"),
        table("score", "classifier"),
        *buffer("layers.{n}.self_attn.rotary_emb.inv_freq"),
    ),
)
