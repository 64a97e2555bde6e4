"""GPT-2: pre-norm, Conv1D stored in x out, q, k, v fused; the head is the word table when there is none."""

from certiformer.checkpoints.families._table import Family, buffer, conv1d, norm, table

FAMILY = Family(
    key="gpt2",
    title="GPT-2",
    model_types=("gpt2",),
    prefixes=("transformer.",),
    normalisation="pre",
    causal=True,
    ties_head=True,
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
    config={
        "heads": ("n_head", "num_attention_heads"),
        "layers": ("n_layer", "num_hidden_layers"),
        "eps": ("layer_norm_epsilon",),
        "activation": ("activation_function",),
    },
    defaults={"eps": 1e-5, "activation": "gelu_new"},
)
