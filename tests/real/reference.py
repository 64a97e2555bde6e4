"""Tiny models of the reference library, attacked by gradient ascent: what `inspect` claims of them must hold.

    python tests/real/reference.py tests/vectors/families.json

writes what the attacks attained, for those who have neither PyTorch nor transformers. Weights come from a seed and the
names of the tensors (`weights.py`), so that the file holds names, shapes, settings and four numbers per model.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1]))

from real import weights

TOKENS = 6
SMALL = {
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 11,
    "max_position_embeddings": 16,
    "pad_token_id": 0,
}
GPT2 = {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 16, "vocab_size": 11, "pad_token_id": 0}
DISTIL = {"dim": 8, "hidden_dim": 12, "n_layers": 2, "n_heads": 2, "vocab_size": 11, "max_position_embeddings": 16}
IMAGE = {
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 4,
    "patch_size": 2,
}
GROUPED = {**SMALL, "num_key_value_heads": 1}
HEADED = {**GROUPED, "head_dim": 4}
MODERN = {**SMALL, "bos_token_id": 1, "eos_token_id": 1, "cls_token_id": 1, "sep_token_id": 1}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 64.0, "original_max_position_embeddings": 8}
FACTOR = {**YARN, "attention_factor": 4.0}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.0], "long_factor": [1.0, 1.0]}
PARTIAL = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}

MODELS: dict[str, tuple[str, dict]] = {
    "bert classifier": ("BertForSequenceClassification", SMALL),
    "bert tokens": ("BertForTokenClassification", {**SMALL, "hidden_act": "relu", "num_labels": 3}),
    "bert decoder mask": ("BertForTokenClassification", {**SMALL, "is_decoder": True}),
    "bert words": ("BertForMaskedLM", SMALL),
    "roberta classifier": ("RobertaForSequenceClassification", SMALL),
    "roberta words": ("RobertaForMaskedLM", SMALL),
    "xlm-roberta tokens": ("XLMRobertaForTokenClassification", SMALL),
    "camembert classifier": ("CamembertForSequenceClassification", SMALL),
    "electra classifier": ("ElectraForSequenceClassification", {**SMALL, "embedding_size": 4}),
    "distilbert classifier": ("DistilBertForSequenceClassification", DISTIL),
    "distilbert words": ("DistilBertForMaskedLM", DISTIL),
    "albert groups": (
        "AlbertForSequenceClassification",
        {**SMALL, "embedding_size": 4, "num_hidden_groups": 2, "inner_group_num": 2},
    ),
    "albert words": ("AlbertForMaskedLM", {**SMALL, "embedding_size": 4, "num_hidden_layers": 1}),
    "modernbert classifier": ("ModernBertForSequenceClassification", MODERN),
    "modernbert biases, mean": (
        "ModernBertForSequenceClassification",
        {
            **MODERN,
            "attention_bias": True,
            "mlp_bias": True,
            "norm_bias": True,
            "classifier_bias": True,
            "classifier_pooling": "mean",
        },
    ),
    "modernbert words": ("ModernBertForMaskedLM", {**MODERN, "decoder_bias": False}),
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2 unscaled": ("GPT2LMHeadModel", {**GPT2, "scale_attn_weights": False}),
    "gpt2 by layer": ("GPT2LMHeadModel", {**GPT2, "scale_attn_by_inverse_layer_idx": True, "n_inner": 20}),
    "gpt2 own head": ("GPT2LMHeadModel", {**GPT2, "tie_word_embeddings": False}),
    "gpt2 classifier": ("GPT2ForSequenceClassification", GPT2),
    "gpt-neox parallel": ("GPTNeoXForCausalLM", SMALL),
    "gpt-neox in a row": (
        "GPTNeoXForCausalLM",
        {**SMALL, "use_parallel_residual": False, "attention_bias": False, "rope_parameters": {**PARTIAL}},
    ),
    "gpt-neox tied": ("GPTNeoXForCausalLM", {**SMALL, "tie_word_embeddings": True}),
    "phi": ("PhiForCausalLM", GROUPED),
    "phi norms": ("PhiForCausalLM", {**SMALL, "qk_layernorm": True}),
    "llama": ("LlamaForCausalLM", GROUPED),
    "llama biases, tied": (
        "LlamaForCausalLM",
        {**GROUPED, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 6},
    ),
    "llama yarn": ("LlamaForCausalLM", {**GROUPED, "rope_parameters": YARN}),
    "llama yarn factor": ("LlamaForCausalLM", {**GROUPED, "rope_parameters": FACTOR}),
    "llama classifier": ("LlamaForSequenceClassification", GROUPED),
    "mistral": ("MistralForCausalLM", {**GROUPED, "sliding_window": 2}),
    "qwen2": ("Qwen2ForCausalLM", {**GROUPED, "use_sliding_window": True, "sliding_window": 2, "max_window_layers": 1}),
    "qwen3": ("Qwen3ForCausalLM", HEADED),
    "qwen3 biases": ("Qwen3ForCausalLM", {**HEADED, "attention_bias": True}),
    "phi3": ("Phi3ForCausalLM", GROUPED),
    "phi3 longrope": (
        "Phi3ForCausalLM",
        {**GROUPED, "rope_parameters": LONG, "max_position_embeddings": 64, "original_max_position_embeddings": 4},
    ),
    "smollm3": ("SmolLM3ForCausalLM", {**GROUPED, "no_rope_layers": [1, 0], "mlp_bias": True}),
    "granite": (
        "GraniteForCausalLM",
        {
            **GROUPED,
            "embedding_multiplier": 3.0,
            "attention_multiplier": 2.0,
            "residual_multiplier": 1.5,
            "logits_scaling": 0.25,
        },
    ),
    "olmo": ("OlmoForCausalLM", GROUPED),
    "olmo clipped": ("OlmoForCausalLM", {**GROUPED, "clip_qkv": 0.5, "attention_bias": True}),
    "gemma": ("GemmaForCausalLM", HEADED),
    "gemma2": ("Gemma2ForCausalLM", {**HEADED, "query_pre_attn_scalar": 2}),
    "gemma2 caps": (
        "Gemma2ForCausalLM",
        {**HEADED, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0, "attention_bias": True},
    ),
    "gemma2 no caps": (
        "Gemma2ForCausalLM",
        {**HEADED, "attn_logit_softcapping": None, "final_logit_softcapping": None, "tie_word_embeddings": False},
    ),
    "vit": ("ViTForImageClassification", IMAGE),
    "vit without biases": ("ViTForImageClassification", {**IMAGE, "qkv_bias": False, "num_labels": 4}),
    "deit": ("DeiTForImageClassification", IMAGE),
}


def made(name: str) -> torch.nn.Module:
    """A model of the library."""
    kind, settings = MODELS[name]
    cls = getattr(transformers, kind)
    return cls(cls.config_class(**settings))


def stored(model: torch.nn.Module, folder: Path) -> dict[str, list[int]]:
    """The names and shapes that the library itself writes, in the order of the file."""
    from safetensors import safe_open

    model.save_pretrained(folder)
    with safe_open(folder / "model.safetensors", "np") as file:
        names = list(file.keys())
        return {key: list(file.get_slice(key).get_shape()) for key in names}


def load(folder: Path, tensors: dict[str, np.ndarray], config: dict, kind: str) -> torch.nn.Module:
    """The model that the library makes of a folder."""
    weights.write(folder, tensors, config)
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    return model.double().eval()


def logits(model: torch.nn.Module, z: torch.Tensor) -> torch.Tensor:
    """The logits at one token when z (tokens x width) is what enters the first block."""
    config = model.config
    base = model.base_model
    place = {"albert": "encoder.embedding_hidden_mapping_in", "gpt2": "drop"}.get(config.model_type, "embeddings")
    if config.model_type == "electra" and hasattr(base, "embeddings_project"):
        place = "embeddings_project"
    if hasattr(base, "embed_tokens") or hasattr(base, "embed_in"):
        scale = getattr(config, "embedding_multiplier", 1.0) if config.model_type == "granite" else 1.0
        out = model(inputs_embeds=(z / scale)[None], use_cache=False).logits[0]
    else:
        hook = base.get_submodule(place).register_forward_hook(lambda *_: z[None])
        try:
            if config.model_type in ("vit", "deit"):
                out = model(pixel_values=torch.zeros(1, 3, 4, 4, dtype=z.dtype)).logits[0]
            else:
                out = model(input_ids=torch.full((1, len(z)), 2)).logits[0]
        finally:
            hook.remove()
    if out.ndim == 1:
        return out
    return out[-1] if reads_last(model) else out[0]


def reads_last(model: torch.nn.Module) -> bool:
    """Whether every token sees those before it only: then the last one is read."""
    base, config = model.base_model, model.config
    masked = config.model_type == "gpt2" or getattr(config, "is_decoder", False)
    return masked or hasattr(base, "embed_tokens") or hasattr(base, "embed_in")


def jacobian(model: torch.nn.Module, z: torch.Tensor, graph: bool = False) -> torch.Tensor:
    """How fast a margin (the first logit minus the second) moves when every token moves at once."""
    if not z.requires_grad:
        z = z.detach().requires_grad_()
    out = logits(model, z)
    value = out[0] - out[1] if len(out) > 1 else out[0]
    (slope,) = torch.autograd.grad(value, z, create_graph=graph)
    return slope.norm(dim=1).sum()


def ascend(model: torch.nn.Module, radius: float, starts, goal, steps: int) -> float:
    """The largest value of `goal` found over tokens of norm at most `radius`."""
    best = 0.0
    for start in starts:
        raw = torch.tensor(start, dtype=torch.float64).requires_grad_()
        step = 0.1 * max(float(raw.detach().norm(dim=1).max()), 1e-9)
        optimiser = torch.optim.Adam([raw], lr=step)
        for _ in range(steps):
            z = raw * torch.clamp(radius / raw.norm(dim=1, keepdim=True).clamp_min(1e-300), max=1.0)
            value = goal(z)
            best = max(best, float(value.detach()))
            optimiser.zero_grad()
            (-value).backward()
            optimiser.step()
    return best


def attacked(name: str, config: dict, shapes: dict, variant: str, folder: Path, steps: int = 25) -> list[float]:
    """What a search attains on one model: the steepest margin, the largest logit."""
    config = weights.settings(config, variant)
    model = load(folder, weights.of(shapes, config, variant), config, MODELS[name][0])
    claimed = weights.claims(folder)
    image, width = config["model_type"] in ("vit", "deit"), model.config.hidden_size
    tokens, radius = claimed["positions"] if image else TOKENS, claimed["radius"]
    if variant == "random":
        rng = np.random.default_rng(0)
        draws = [scale * radius * rng.normal(size=(tokens, width)) / width**0.5 for scale in (0.05, 1.0)]
    else:
        first = weights.start(width, tokens, radius, variant, last=reads_last(model))
        draws, steps = [first, 0.3 * first], 8
    found = [
        ascend(model, radius, draws, lambda z: jacobian(model, z, graph=True), steps),
        ascend(model, radius, draws, lambda z: logits(model, z).abs().max(), steps),
    ]
    ratios = f"slope {found[0] / claimed['slope']:.3f}, logit {found[1] / claimed['logit']:.3f}"
    print(f"{name}, {variant}: {ratios}")  # noqa: T201
    return found


def case(name: str, folder: Path) -> dict:
    """One model: the settings, names and shapes that the library writes, and what the search attains by variant."""
    shapes = stored(made(name), folder)
    config = json.loads((folder / "config.json").read_text())
    found = {"config": config, "shapes": shapes}
    for variant, eps in weights.VARIANTS.items():
        if eps < 1.0 or any(key in config for key in weights.EPS):
            found[variant] = attacked(name, config, shapes, variant, folder)
    return found


def quiet() -> None:
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def main(target: Path, names: list[str]) -> None:
    quiet()
    document = json.loads(target.read_text()) if target.exists() and names else {}
    for name in names or MODELS:
        with tempfile.TemporaryDirectory() as place:
            document[name] = case(name, Path(place))
        rows = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in document.items()]
        target.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
