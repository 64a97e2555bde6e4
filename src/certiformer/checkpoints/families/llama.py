"""Llama, Mistral, Qwen2, Qwen3, Phi-3, SmolLM3, Granite, OLMo: pre-norm, rotations, grouped keys, gated blocks."""

from dataclasses import replace

from certiformer.checkpoints.families._table import Family, bare, buffer, decoder_end, linear, norm, table
from certiformer.checkpoints.keys import Keys
from certiformer.theory.networks.architecture import Architecture, Attention, Block, FeedForward, Half, Norm, Tables

QKV = ("query", "key", "value")


def architecture(keys: Keys, depth: int | None) -> Architecture:
    return decoder(keys, depth, Norm("rms_norm", keys.eps("rms_norm_eps", default=1e-6)))


def olmo(keys: Keys, depth: int | None) -> Architecture:
    """Norms without parameters."""
    return decoder(keys, depth, Norm("layer_norm", keys.eps(default=1e-5), gain=False))


def decoder(keys: Keys, depth: int | None, before: Norm) -> Architecture:
    kind = keys.kind
    width = keys.count("hidden_size", role="output")
    heads = keys.heads("num_attention_heads")
    key_heads = keys.count("num_key_value_heads", default=heads)
    inner = keys.size("output")
    size = keys.count("head_dim", default=max(1, (width if inner is None else inner[1]) // heads))
    keys.expect("attention.value_length", size)
    scale = keys.number("attention_multiplier", default=size**-0.5) if kind == "granite" else size**-0.5
    scale *= keys.rotation()
    biases = (*QKV, "output") if keys.flag("attention_bias", False) else QKV if kind == "qwen2" else ()
    hidden = keys.count("intermediate_size", role="down", axis=1)
    shifts = ("gate", "up", "down") if keys.flag("mlp_bias", False) else ()
    feed_forward = FeedForward(hidden, keys.activation("hidden_act", default="silu"), gated=True, biases=shifts)
    multiplier = keys.number("residual_multiplier", default=1.0) if kind == "granite" else 1.0
    layers = keys.layers("num_hidden_layers", depth=depth)
    turned = keys.take("no_rope_layers") if kind == "smollm3" else None
    turned = turned if isinstance(turned, list) and len(turned) == layers else [1] * layers

    def block(n: int) -> Block:
        attention = Attention(
            heads,
            key_heads,
            size,
            scale,
            rotary=bool(turned[n]),
            norm=before if kind == "qwen3" else None,
            biases=biases,
        )
        return Block(str(n), (Half(attention, before), Half(feed_forward, before)), residual_scale=multiplier)

    words, positions = keys.count("vocab_size", role="word"), keys.count("max_position_embeddings", default=2048)
    enlarged = keys.number("embedding_multiplier", default=1.0) if kind == "granite" else 1.0
    end = decoder_end(keys, words, before, tied=kind == "smollm3")
    if kind == "granite" and end.role in ("head", "word"):
        end = replace(end, scale=1.0 / keys.number("logits_scaling", default=1.0))
    source = Tables(width, positions, {"word": words}, scale=enlarged)
    return Architecture(width, source, tuple(block(n) for n in range(layers)), end)


ROWS = (
    table("embed_tokens", "word"),
    norm("layers.{n}.input_layernorm", "attention.norm"),
    linear("layers.{n}.self_attn.q_proj", "query"),
    linear("layers.{n}.self_attn.k_proj", "key"),
    linear("layers.{n}.self_attn.v_proj", "value"),
    linear("layers.{n}.self_attn.qkv_proj", "qkv"),
    linear("layers.{n}.self_attn.o_proj", "output"),
    norm("layers.{n}.self_attn.q_norm", "query.norm"),
    norm("layers.{n}.self_attn.k_norm", "key.norm"),
    norm("layers.{n}.post_attention_layernorm", "feedforward.norm"),
    linear("layers.{n}.mlp.gate_proj", "gate"),
    linear("layers.{n}.mlp.up_proj", "up"),
    linear("layers.{n}.mlp.gate_up_proj", "gate_up"),
    linear("layers.{n}.mlp.down_proj", "down"),
    norm("norm", "final.norm"),
    table("lm_head", "head"),
    table("score", "classifier"),
    *buffer("layers.{n}.self_attn.rotary_emb.inv_freq"),
    # The same network in GGUF.
    table("token_embd", "word"),
    norm("blk.{n}.attn_norm", "attention.norm"),
    linear("blk.{n}.attn_q", "query"),
    linear("blk.{n}.attn_k", "key"),
    linear("blk.{n}.attn_v", "value"),
    linear("blk.{n}.attn_output", "output"),
    norm("blk.{n}.attn_q_norm", "query.norm"),
    norm("blk.{n}.attn_k_norm", "key.norm"),
    norm("blk.{n}.ffn_norm", "feedforward.norm"),
    linear("blk.{n}.ffn_gate", "gate"),
    linear("blk.{n}.ffn_up", "up"),
    linear("blk.{n}.ffn_down", "down"),
    norm("output_norm", "final.norm"),
    table("output", "head"),
    bare("rope_freqs.weight", "buffer"),
)
FAMILY = Family(
    key="llama",
    title="Llama type",
    model_types=("llama", "mistral", "qwen2", "qwen3", "phi3", "smollm3", "granite"),
    prefixes=("model.",),
    architecture=architecture,
    gguf=("llama", "qwen2", "qwen3"),
    rows=ROWS,
)
OLMO = Family(key="olmo", title="OLMo", model_types=("olmo",), prefixes=("model.",), architecture=olmo, rows=ROWS)
