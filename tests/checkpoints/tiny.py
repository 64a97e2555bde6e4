"""Tiny models of every family and writers of every format, with numpy and the standard library."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import numpy as np
from safetensors.numpy import save_file

D, H, F, V, T, L = 16, 4, 24, 40, 10, 2


def _draw(shapes, seed):
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes.items():
        values = rng.normal(size=shape) / np.sqrt(shape[-1])
        if len(shape) == 1:
            values = 0.1 * rng.normal(size=shape) + (1.0 if "norm" in name.lower() and "bias" not in name else 0.0)
        found[name] = values.astype(np.float32)
    return found


def _linear(name, rows, columns, bias=True):
    return {f"{name}.weight": (rows, columns), **({f"{name}.bias": (rows,)} if bias else {})}


def _norm(name, bias=True):
    return {f"{name}.weight": (D,), **({f"{name}.bias": (D,)} if bias else {})}


def bert(seed=0):
    shapes = {
        "embeddings.word_embeddings.weight": (V, D),
        "embeddings.position_embeddings.weight": (T, D),
        "embeddings.token_type_embeddings.weight": (2, D),
        **_norm("embeddings.LayerNorm"),
    }
    for n in range(L):
        at = f"encoder.layer.{n}."
        for part in ("query", "key", "value"):
            shapes |= _linear(f"{at}attention.self.{part}", D, D)
        shapes |= _linear(f"{at}attention.output.dense", D, D) | _norm(f"{at}attention.output.LayerNorm")
        shapes |= _linear(f"{at}intermediate.dense", F, D) | _linear(f"{at}output.dense", D, F)
        shapes |= _norm(f"{at}output.LayerNorm")
    config = {
        "model_type": "bert",
        "num_attention_heads": H,
        "num_hidden_layers": L,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    return _draw(shapes, seed), config


def distilbert(seed=0):
    tensors, _ = bert(seed)
    names = (
        ("encoder.layer", "transformer.layer"),
        ("attention.self.query", "attention.q_lin"),
        ("attention.self.key", "attention.k_lin"),
        ("attention.self.value", "attention.v_lin"),
        ("attention.output.dense", "attention.out_lin"),
        ("attention.output.LayerNorm", "sa_layer_norm"),
        ("intermediate.dense", "ffn.lin1"),
        ("output.dense", "ffn.lin2"),
        ("output.LayerNorm", "output_layer_norm"),
    )
    found = {}
    for name, value in tensors.items():
        if "token_type" in name:
            continue
        for old, new in names:
            name = name.replace(old, new)
        found[f"distilbert.{name}"] = value
    return found, {"model_type": "distilbert", "n_heads": H, "n_layers": L, "activation": "gelu"}


def albert(seed=0):
    at = "albert.encoder.albert_layer_groups.0.albert_layers.0."
    shapes = {
        "albert.embeddings.word_embeddings.weight": (V, 8),
        "albert.embeddings.position_embeddings.weight": (T, 8),
        "albert.embeddings.LayerNorm.weight": (8,),
        "albert.embeddings.LayerNorm.bias": (8,),
        **_linear("albert.encoder.embedding_hidden_mapping_in", D, 8),
        **_linear(f"{at}ffn", F, D),
        **_linear(f"{at}ffn_output", D, F),
        **_norm(f"{at}full_layer_layer_norm"),
        **_norm(f"{at}attention.LayerNorm"),
    }
    for part in ("query", "key", "value", "dense"):
        shapes |= _linear(f"{at}attention.{part}", D, D)
    config = {"model_type": "albert", "num_attention_heads": H, "num_hidden_layers": 3, "hidden_act": "gelu_new"}
    return _draw(shapes, seed), config


def gpt2(seed=0):
    shapes = {"wte.weight": (V, D), "wpe.weight": (T, D), **_norm("ln_f")}
    for n in range(L):
        shapes |= _norm(f"h.{n}.ln_1") | _norm(f"h.{n}.ln_2")
        shapes |= {f"h.{n}.attn.c_attn.weight": (D, 3 * D), f"h.{n}.attn.c_attn.bias": (3 * D,)}
        shapes |= {f"h.{n}.attn.c_proj.weight": (D, D), f"h.{n}.attn.c_proj.bias": (D,)}
        shapes |= {f"h.{n}.mlp.c_fc.weight": (D, F), f"h.{n}.mlp.c_fc.bias": (F,)}
        shapes |= {f"h.{n}.mlp.c_proj.weight": (F, D), f"h.{n}.mlp.c_proj.bias": (D,)}
        shapes |= {f"h.{n}.attn.bias": (1, 1, T, T)}
    return _draw(shapes, seed), {"model_type": "gpt2", "n_head": H, "n_layer": L, "activation_function": "gelu_new"}


def llama(seed=0, *, kv=2, tied=True, bias=False, qk_norm=False):
    shapes = {"model.embed_tokens.weight": (V, D), **_norm("model.norm", False)}
    for n in range(L):
        at = f"model.layers.{n}."
        shapes |= _linear(f"{at}self_attn.q_proj", D, D, bias) | _linear(f"{at}self_attn.o_proj", D, D, False)
        for part in ("k", "v"):
            shapes |= _linear(f"{at}self_attn.{part}_proj", D * kv // H, D, bias)
        shapes |= _norm(f"{at}input_layernorm", False) | _norm(f"{at}post_attention_layernorm", False)
        if qk_norm:
            shapes |= {f"{at}self_attn.{part}_norm.weight": (D // H,) for part in "qk"}
        shapes |= _linear(f"{at}mlp.gate_proj", F, D, False) | _linear(f"{at}mlp.up_proj", F, D, False)
        shapes |= _linear(f"{at}mlp.down_proj", D, F, False)
    if not tied:
        shapes["lm_head.weight"] = (V, D)
    config = {
        "model_type": "qwen3" if qk_norm else "qwen2" if bias else "llama",
        "num_attention_heads": H,
        "num_key_value_heads": kv,
        "num_hidden_layers": L,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "max_position_embeddings": T,
    }
    return _draw(shapes, seed), config


def vit(seed=0):
    shapes = {
        "vit.embeddings.cls_token": (1, 1, D),
        "vit.embeddings.position_embeddings": (1, T, D),
        "vit.embeddings.patch_embeddings.projection.weight": (D, 3, 2, 2),
        "vit.embeddings.patch_embeddings.projection.bias": (D,),
        **_norm("vit.layernorm"),
        **_linear("classifier", 5, D),
    }
    for n in range(L):
        at = f"vit.encoder.layer.{n}."
        for part in ("query", "key", "value"):
            shapes |= _linear(f"{at}attention.attention.{part}", D, D)
        shapes |= _linear(f"{at}attention.output.dense", D, D) | _norm(f"{at}layernorm_before")
        shapes |= _linear(f"{at}intermediate.dense", F, D) | _linear(f"{at}output.dense", D, F)
        shapes |= _norm(f"{at}layernorm_after")
    config = {"model_type": "vit", "num_attention_heads": H, "num_hidden_layers": L, "hidden_act": "gelu"}
    return _draw(shapes, seed), config | {"layer_norm_eps": 1e-6}


def timm(seed=0):
    """The same network as `vit`, as timm stores it."""
    tensors, _ = vit(seed)
    found = {
        "cls_token": tensors["vit.embeddings.cls_token"],
        "pos_embed": tensors["vit.embeddings.position_embeddings"],
        "patch_embed.proj.weight": tensors["vit.embeddings.patch_embeddings.projection.weight"],
        "patch_embed.proj.bias": tensors["vit.embeddings.patch_embeddings.projection.bias"],
        "norm.weight": tensors["vit.layernorm.weight"],
        "norm.bias": tensors["vit.layernorm.bias"],
        "head.weight": tensors["classifier.weight"],
        "head.bias": tensors["classifier.bias"],
    }
    for n in range(L):
        at = f"vit.encoder.layer.{n}."
        for end in ("weight", "bias"):
            parts = [tensors[f"{at}attention.attention.{part}.{end}"] for part in ("query", "key", "value")]
            found[f"blocks.{n}.attn.qkv.{end}"] = np.concatenate(parts)
            found[f"blocks.{n}.attn.proj.{end}"] = tensors[f"{at}attention.output.dense.{end}"]
            found[f"blocks.{n}.norm1.{end}"] = tensors[f"{at}layernorm_before.{end}"]
            found[f"blocks.{n}.norm2.{end}"] = tensors[f"{at}layernorm_after.{end}"]
            found[f"blocks.{n}.mlp.fc1.{end}"] = tensors[f"{at}intermediate.dense.{end}"]
            found[f"blocks.{n}.mlp.fc2.{end}"] = tensors[f"{at}output.dense.{end}"]
    return found, {}


def torch_encoder(seed=0):
    shapes = {}
    for n in range(L):
        at = f"encoder.layers.{n}."
        shapes |= {f"{at}self_attn.in_proj_weight": (3 * D, D), f"{at}self_attn.in_proj_bias": (3 * D,)}
        shapes |= _linear(f"{at}self_attn.out_proj", D, D) | _linear(f"{at}linear1", F, D)
        shapes |= _linear(f"{at}linear2", D, F) | _norm(f"{at}norm1") | _norm(f"{at}norm2")
    return _draw(shapes, seed), {}


FAMILIES = {
    "bert": bert,
    "distilbert": distilbert,
    "albert": albert,
    "gpt2": gpt2,
    "llama": llama,
    "vit": vit,
    "vit.timm": timm,
    "torch.encoder": torch_encoder,
}


# --- formats ----------------------------------------------------------------------------------------------------------


def write_folder(folder, tensors, config):
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_sharded(folder, tensors, config):
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted(tensors)
    halves = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, members in halves.items():
        save_file({name: tensors[name] for name in members}, folder / file)
    places = {name: file for file, members in halves.items() for name in members}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


class Pickle:
    """An assembler of pickles, so that no test needs PyTorch (or runs what it writes)."""

    def __init__(self):
        self.code = b"\x80\x02"

    def text(self, value):
        data = value.encode()
        self.code += b"X" + struct.pack("<I", len(data)) + data

    def number(self, value):
        self.code += b"J" + struct.pack("<i", value)

    def name(self, module, name):
        self.code += b"c" + module.encode() + b"\n" + name.encode() + b"\n"

    def numbers(self, values):
        self.code += b"("
        for value in values:
            self.number(value)
        self.code += b"t"

    def tensor(self, key, values, *, offset=0, shape=None, strides=None, count=None, legacy=False):
        shape = values.shape if shape is None else shape
        if strides is None:
            strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.code += b"(("
        self.text("storage")
        self.name("torch", "FloatStorage")
        self.text(key)
        self.text("cpu")
        self.number(values.size if count is None else count)
        self.code += (b"N" if legacy else b"") + b"tQ"
        self.number(offset)
        self.numbers(shape)
        self.numbers(strides)
        self.code += b"\x89"
        self.name("collections", "OrderedDict")
        self.code += b")RtR"

    def state(self, tensors, **options):
        self.code += b"}("
        for key, (name, values) in enumerate(tensors.items()):
            self.text(name)
            self.tensor(str(key), values, **options)
        self.code += b"u"

    def done(self):
        return self.code + b"."


def write_torch(path, tensors, pickled=None, wrap=False):
    program = Pickle()
    if wrap:
        program.code += b"}("
        program.text("state_dict")
    program.state(tensors)
    if wrap:
        program.text("epoch")
        program.number(3)
        program.text("hyper_parameters")
        program.name("argparse", "Namespace")
        program.code += b")\x81}bu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", program.done() if pickled is None else pickled)
        archive.writestr("archive/byteorder", b"little")
        for key, values in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{key}", values.tobytes())
    return path


def write_legacy(path, tensors):
    def integer(value):
        data = value.to_bytes(10, "little")
        return b"\x80\x02\x8a\x0a" + data + b"."

    program, keys = Pickle(), Pickle()
    program.state(tensors, legacy=True)
    keys.code += b"]("
    for key in range(len(tensors)):
        keys.text(str(key))
    keys.code += b"e"
    system = b"\x80\x02}X\x0d\x00\x00\x00little_endian\x88s."
    data = integer(0x1950A86A20F9469CFC6C) + b"\x80\x02M\xe9\x03." + system + program.done() + keys.done()
    for values in tensors.values():
        data += struct.pack("<q", values.size) + values.tobytes()
    path.write_bytes(data)
    return path


def write_npz(path, tensors, *, compressed=False):
    (np.savez_compressed if compressed else np.savez)(path, **tensors)
    return path


GGUF_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "model.layers": "blk",
}


def gguf_bytes(tensors, metadata, alignment=32):
    """GGUF version 3 with F32 tensors, by hand."""

    def text(value):
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    out = io.BytesIO()
    out.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
        out.write(text(key))
        if isinstance(value, str):
            out.write(struct.pack("<I", 8) + text(value))
        elif isinstance(value, float):
            out.write(struct.pack("<If", 6, value))
        else:
            out.write(struct.pack("<II", 4, value))
    offset = 0
    for name, values in tensors.items():
        out.write(text(name) + struct.pack("<I", values.ndim))
        out.write(struct.pack(f"<{values.ndim}Q", *values.shape[::-1]) + struct.pack("<IQ", 0, offset))
        offset += -(-values.nbytes // alignment) * alignment
    for values in tensors.values():
        out.write(b"\0" * (-out.tell() % alignment) + values.tobytes())
    return out.getvalue()


def write_gguf(path, tensors, config):
    renamed = {}
    for name, values in tensors.items():
        for old, new in GGUF_NAMES.items():
            name = name.replace(old, new)
        renamed[name] = values
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": config["num_hidden_layers"],
        "llama.context_length": config["max_position_embeddings"],
        "llama.attention.head_count": config["num_attention_heads"],
        "llama.attention.head_count_kv": config["num_key_value_heads"],
        "llama.attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
    }
    path.write_bytes(gguf_bytes(renamed, metadata))
    return path


def write_adapter(folder, targets, base, *, rank=2, alpha=4, seed=5):
    """LoRA factors for the named modules of the base tensors."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for name in targets:
        rows, columns = base[f"{name}.weight"].shape
        tensors[f"base_model.model.{name}.lora_A.weight"] = rng.normal(size=(rank, columns)).astype(np.float32) * 0.1
        tensors[f"base_model.model.{name}.lora_B.weight"] = rng.normal(size=(rows, rank)).astype(np.float32) * 0.1
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "target_modules": list(targets)}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return tensors
