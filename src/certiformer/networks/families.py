"""A Hugging Face `config.json` as a description: the architecture is known, the norms are assumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certiformer.core.errors import InputError
from certiformer.networks.description import NOT_LIPSCHITZ, build
from certiformer.networks.network import Network

_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "quick_gelu": "quick_gelu",
}
ENCODERS = ("bert", "roberta", "distilbert", "albert", "electra", "vit")
DECODERS = ("gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "smollm3")


def load_config(
    path: str | Path,
    *,
    spectral: float = 1.0,
    samples: int | None = None,
    classes: int = 2,
    radii: tuple[float, ...] = (1.0, 0.1, 0.01),
) -> Network:
    """The network of a `config.json`, every matrix with the assumed spectral norm, gains 1 and biases 1."""
    path = Path(path)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError("file", str(path), f"JSON ({error})") from error
    described = describe(config, spectral=spectral, classes=classes)
    name = str(config.get("_name_or_path") or config.get("model_type") or path.parent.name)
    return build({"name": name, "samples": samples, "radii": radii, "origin": "assumed", **described})


def describe(config: Mapping[str, Any], *, spectral: float = 1.0, classes: int = 2) -> dict[str, Any]:
    """The description that belongs to a configuration."""
    kind = config.get("model_type")
    if any(config.get(key) for key in ("num_local_experts", "num_experts", "n_routed_experts")):
        raise InputError("config", kind, "a network without routing", NOT_LIPSCHITZ["moe"])
    if kind in ENCODERS:
        return _encoder(config, spectral, classes)
    if kind in DECODERS:
        return _decoder(config, spectral)
    raise InputError("model_type", kind, f"one of {', '.join((*ENCODERS, *DECODERS))}", "Or write it as TOML")


def _number(config: Mapping[str, Any], *keys: str, default: int | None = None) -> int:
    for key in keys:
        if config.get(key) is not None:
            return int(config[key])
    if default is None:
        raise InputError(keys[0], None, "a count in the configuration")
    return default


def _weights(spectral: float) -> dict[str, Any]:
    vector = {"spectral": 1.0}
    return {
        "default": {"spectral": spectral},
        "gain": {"max_row": 1.0},
        "shift": vector,
        "bias": vector,
        "table": {"max_row": 1.0},
        "position_table": {"max_row": 1.0},
    }


def _activation(config: Mapping[str, Any], default: str) -> str:
    keys = ("hidden_activation", "hidden_act", "activation_function", "activation")
    name = next((str(config[key]) for key in keys if config.get(key)), default)
    if name not in _ACTIVATIONS:
        raise InputError("hidden_act", name, f"one of {', '.join(sorted(_ACTIVATIONS))}")
    return _ACTIVATIONS[name]


def _encoder(config: Mapping[str, Any], spectral: float, classes: int) -> dict[str, Any]:
    kind = config["model_type"]
    d = _number(config, "hidden_size", "dim")
    eps = float(config.get("layer_norm_eps", 1e-12))
    norm = {"kind": "layer_norm", "eps": eps}
    image = kind == "vit"
    if image:
        positions = (_number(config, "image_size") // _number(config, "patch_size")) ** 2 + 1
        source: dict[str, Any] = {"tokens": {"dimension": d, "positions": positions, "radius": float(d) ** 0.5}}
    else:
        positions = _number(config, "max_position_embeddings")
        embedding = {"dimension": d, "positions": positions, "entries": _number(config, "vocab_size")}
        source = {"embedding": {**embedding, "learned_positions": True, "normalisation": norm}}
    block = {
        "repeat": _number(config, "num_hidden_layers", "n_layers"),
        "heads": _number(config, "num_attention_heads", "n_heads"),
        "hidden": _number(config, "intermediate_size", "hidden_dim"),
        "activation": _activation(config, "gelu"),
        "norm": "pre" if image else "post",
        "normalisation": norm,
        "biases": True,
        "tied": kind == "albert",
    }
    readout: dict[str, Any] = {"pool": "cls", "classes": classes, "bias": True}
    if image:
        readout["normalisation"] = norm
    return {**source, "weights": _weights(spectral), "blocks": [block], "readout": readout, "loss": _loss()}


def _decoder(config: Mapping[str, Any], spectral: float) -> dict[str, Any]:
    kind = config["model_type"]
    plain = kind == "gpt2"
    d = _number(config, "hidden_size", "n_embd")
    heads = _number(config, "num_attention_heads", "n_head")
    eps = float(config.get("layer_norm_epsilon" if plain else "rms_norm_eps", 1e-5))
    norm = {"kind": "layer_norm" if plain else "rms_norm", "eps": eps}
    vocabulary = _number(config, "vocab_size")
    embedding = {"dimension": d, "positions": _number(config, "n_positions", "max_position_embeddings")}
    embedding |= {"entries": vocabulary, "learned_positions": plain}
    if kind.startswith("gemma"):
        embedding["scale"] = float(d) ** 0.5
    block: dict[str, Any] = {
        "repeat": _number(config, "num_hidden_layers", "n_layer"),
        "heads": heads,
        "key_heads": _number(config, "num_key_value_heads", default=heads),
        "head_dimension": _number(config, "head_dim", default=d // heads),
        "hidden": _number(config, "intermediate_size", "n_inner", default=4 * d),
        "activation": _activation(config, "gelu_new" if plain else "silu"),
        "gated": not plain,
        "norm": "both" if kind == "gemma2" else "pre",
        "normalisation": norm,
        "rotary": not plain,
        "biases": plain,
        "qk_norm": kind == "qwen3",
    }
    if config.get("attn_logit_softcapping"):
        block["cap"] = float(config["attn_logit_softcapping"])
    tied = bool(config.get("tie_word_embeddings", plain))
    readout: dict[str, Any] = {"pool": "none", "classes": vocabulary, "normalisation": norm, "tied": tied}
    if config.get("final_logit_softcapping"):
        readout["cap"] = float(config["final_logit_softcapping"])
    return {
        "embedding": embedding,
        "weights": _weights(spectral),
        "blocks": [block],
        "readout": readout,
        "loss": {"lipschitz": 2.0, "bound": 10.0},
    }


def _loss() -> dict[str, float]:
    return {"lipschitz": 1.0, "bound": 1.0}
