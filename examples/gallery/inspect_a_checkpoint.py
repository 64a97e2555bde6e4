"""A checkpoint, layer by layer, without running it.

A folder as Hugging Face writes it (`config.json`, `model.safetensors`), made here with random weights.
"""

# %%
import json
from pathlib import Path

import numpy as np
from rich.console import Console
from safetensors.numpy import save_file

from certiformer.checkpoints import inspect
from certiformer.report.checkpoints import inspection_table

random = np.random.default_rng(0)
d, wide, words = 16, 32, 50


def matrix(*shape):
    return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


# %%
tensors = {
    "embeddings.word_embeddings.weight": matrix(words, d),
    "embeddings.position_embeddings.weight": matrix(12, d),
    "embeddings.token_type_embeddings.weight": matrix(2, d),
    "embeddings.LayerNorm.weight": np.ones(d, np.float32),
    "embeddings.LayerNorm.bias": np.zeros(d, np.float32),
    "pooler.dense.weight": matrix(d, d),
    "pooler.dense.bias": np.zeros(d, np.float32),
}
for layer in range(2):
    at = f"encoder.layer.{layer}"
    for name, rows, columns in [
        ("attention.self.query", d, d),
        ("attention.self.key", d, d),
        ("attention.self.value", d, d),
        ("attention.output.dense", d, d),
        ("intermediate.dense", wide, d),
        ("output.dense", d, wide),
    ]:
        tensors[f"{at}.{name}.weight"] = matrix(rows, columns)
        tensors[f"{at}.{name}.bias"] = np.zeros(rows, np.float32)
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        tensors[f"{at}.{name}.weight"] = np.ones(d, np.float32)
        tensors[f"{at}.{name}.bias"] = np.zeros(d, np.float32)
config = {
    "model_type": "bert", "hidden_size": d, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": words,
    "intermediate_size": wide, "max_position_embeddings": 12, "type_vocab_size": 2, "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}  # fmt: skip
folder = Path("model")
folder.mkdir()
(folder / "config.json").write_text(json.dumps(config))
save_file(tensors, folder / "model.safetensors")

# %%
document = inspect(folder)
Console(width=100, no_color=True).print(inspection_table(document))
