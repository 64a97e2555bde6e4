"""Every format gives the same tensors; nothing in a file is run; broken files end in one line."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from certiformer.checkpoints import CheckpointError, open_checkpoint
from certiformer.checkpoints.readers import _pickle
from checkpoints import tiny


@pytest.fixture
def model():
    return tiny.llama()


WRITERS = {
    "folder": lambda folder, model: tiny.write_folder(folder / "m", *model),
    "sharded": lambda folder, model: tiny.write_sharded(folder / "m", *model),
    "torch": lambda folder, model: tiny.write_torch(folder / "m.pt", model[0]),
    "lightning": lambda folder, model: tiny.write_torch(folder / "m.ckpt", model[0], wrap=True),
    "legacy": lambda folder, model: tiny.write_legacy(folder / "m.bin", model[0]),
    "npz": lambda folder, model: tiny.write_npz(folder / "m.npz", model[0]),
    "compressed": lambda folder, model: tiny.write_npz(folder / "m.npz", model[0], compressed=True),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_tensors(kind, model, tmp_path):
    found = open_checkpoint(WRITERS[kind](tmp_path, model))
    assert set(found.tensors) == set(model[0])
    for name, values in model[0].items():
        tensor = found.tensors[name]
        np.testing.assert_array_equal(tensor.array(), values)
        np.testing.assert_array_equal(tensor[1:3], values[1:3])
    digests = {name: tensor.digest() for name, tensor in found.tensors.items()}
    again = open_checkpoint(WRITERS["folder"](tmp_path / "again", model))
    assert digests == {name: tensor.digest() for name, tensor in again.tensors.items()}


def test_gguf_by_hand_and_quantised_against_the_gguf_package(model, tmp_path):
    tensors, config = model
    found = open_checkpoint(tiny.write_gguf(tmp_path / "m.gguf", tensors, config))
    np.testing.assert_array_equal(
        found.tensors["blk.1.ffn_up.weight"].array(), tensors["model.layers.1.mlp.up_proj.weight"]
    )
    gguf = pytest.importorskip("gguf")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, 64)).astype(np.float32)
    writer = gguf.GGUFWriter(tmp_path / "q.gguf", "llama")
    kinds = {name: getattr(gguf.GGMLQuantizationType, name) for name in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1")}
    truth = {}
    for name, kind in kinds.items():
        packed = gguf.quants.quantize(values, kind)
        truth[name] = gguf.quants.dequantize(packed, kind)
        writer.add_tensor(name, packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = open_checkpoint(tmp_path / "q.gguf")
    for name, expected in truth.items():
        tensor = read.tensors[name]
        assert (tensor.dtype, tensor.shape) == (name, (6, 64))
        np.testing.assert_allclose(tensor.array(), expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(tensor[2:5], tensor.array()[2:5])


def test_types_in_safetensors(tmp_path):
    header = {
        "b": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
        "h": {"dtype": "F16", "shape": [2], "data_offsets": [8, 12]},
        "i": {"dtype": "I64", "shape": [1], "data_offsets": [12, 20]},
    }
    text = json.dumps(header).encode()
    halves = np.array([1.5, -2.0, 0.25, 3.0], np.float32).view(np.uint32) >> 16
    data = halves.astype("<u2").tobytes() + np.array([0.5, 7], "<f2").tobytes() + np.array([4], "<i8").tobytes()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    found = open_checkpoint(tmp_path / "x.safetensors").tensors
    assert found["b"].array().tolist() == [[1.5, -2.0], [0.25, 3.0]]
    assert found["h"].array().tolist() == [0.5, 7.0]
    assert (found["i"].real, found["b"].real) == (False, True)


def test_strided_and_shared_storages(tmp_path):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    program = tiny.Pickle()
    program.code += b"}("
    program.text("plain")
    program.tensor("0", values)
    program.text("transposed")
    program.tensor("0", values, shape=(4, 3), strides=[1, 4])
    program.text("tied")
    program.tensor("0", values)
    program.code += b"u"
    path = tiny.write_torch(tmp_path / "s.pt", {"x": values}, pickled=program.done())
    found = open_checkpoint(path).tensors
    np.testing.assert_array_equal(found["transposed"].array(), values.T)
    assert found["plain"].storage == found["tied"].storage != found["transposed"].storage


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("protocol", range(5))
def test_malicious_pickles_are_not_run(protocol, tmp_path):
    marker = tmp_path / "ran"
    evil = pickle.dumps({"weight": Evil(marker)}, protocol)
    path = tiny.write_torch(tmp_path / "evil.pt", {"x": np.ones((2, 2), np.float32)}, pickled=evil)
    with pytest.raises(CheckpointError, match=r"posix\.system|nt\.system"):
        open_checkpoint(path)
    assert not marker.exists()


@pytest.mark.parametrize("protocol", range(5))
def test_plain_values_are_read_in_every_protocol(protocol):
    value = {
        "epoch": 3,
        "steps": [1, 2.5, None, True],
        "pair": (1, (2,), {}),
        "names": {"a": [], "b": {"c": (1, 2, 3, 4)}},
    }
    pickled = pickle.dumps(value, protocol)
    assert _pickle.load(io.BytesIO(pickled), len(pickled)) == value


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "hub.load"),
        ("runpy", "run_path"),
        ("numpy.f2py", "x.y"),
    ],
)
def test_names_outside_the_closed_list_are_refused(module, name, tmp_path):
    program = tiny.Pickle()
    program.name(module, name)
    program.code += b")R"
    path = tiny.write_torch(tmp_path / "x.pt", {"x": np.ones(1, np.float32)}, pickled=program.done())
    with pytest.raises(CheckpointError, match="refused"):
        open_checkpoint(path)


def _header(entries, data=b""):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + data


F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BROKEN = {
    "empty": (b"", "empty"),
    "text": (b"hello world, this is text", "no known format"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1", "pointer"),
    "huge header": (struct.pack("<Q", 2**60) + b"{}      ", "truncated"),
    "not json": (_header(b"{nonsense"), "not JSON"),
    "nested": (_header(b'{"a":' * 100_000), "nested too deeply"),
    "duplicate": (_header(b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":1}'), "twice"),
    "no tensor": (_header({"a": 3}), "no tensor"),
    "unknown type": (_header({"a": {**F32, "dtype": "F4"}}, b"\0" * 8), "type F4"),
    "negative": (_header({"a": {**F32, "shape": [-2]}}, b"\0" * 8), "axis of length"),
    "absurd": (_header({"a": {**F32, "shape": [2**40, 2**40]}}, b"\0" * 8), "entries"),
    "wrong shape": (_header({"a": {**F32, "shape": [3]}}, b"\0" * 8), "needs 12 bytes"),
    "outside": (_header({"a": F32}, b"\0" * 4), "outside the file"),
    "overlap": (_header({"a": F32, "b": {**F32, "data_offsets": [4, 12]}}, b"\0" * 12), "overlap"),
    "gguf version": (b"GGUF" + struct.pack("<IQQ", 99, 1, 1), "version 99"),
    "gguf counts": (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 1), "not readable"),
    "gguf truncated": (b"GGUF" + struct.pack("<IQQ", 3, 1, 0), "truncated"),
    "zip": (b"PK\x03\x04 not really", "archive"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_end_in_one_line(kind, tmp_path):
    data, words = BROKEN[kind]
    (tmp_path / "x.bin").write_bytes(data)
    with pytest.raises(CheckpointError, match=words) as caught:
        open_checkpoint(tmp_path / "x.bin")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_gguf_types_that_are_not_read_are_named(model, tmp_path):
    data = tiny.gguf_bytes({"w": np.ones((2, 256), np.float32)}, {"general.architecture": "llama"})
    at = data.index(struct.pack("<QQ", 256, 2)) + 16
    (tmp_path / "x.gguf").write_bytes(data[:at] + struct.pack("<I", 12) + data[at + 4 :])
    with pytest.raises(CheckpointError, match="stored as Q4_K; read here"):
        open_checkpoint(tmp_path / "x.gguf")


def test_tensors_that_reach_outside_their_storage(tmp_path):
    values = np.ones((2, 2), np.float32)
    for options in ({"offset": 3}, {"strides": [100, 1]}, {"shape": (5, 2), "strides": [0, 1]}, {"count": 400}):
        program = tiny.Pickle()
        program.code += b"}("
        program.text("w")
        program.tensor("0", values, **options)
        program.code += b"u"
        path = tiny.write_torch(tmp_path / "x.pt", {"w": values}, pickled=program.done())
        with pytest.raises(CheckpointError, match=r"tensor w|truncated"):
            open_checkpoint(path)


def test_zip_bombs_and_python_objects(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w.npy", b"\0" * 2**27)
    with pytest.raises(CheckpointError, match="zip bomb"):
        open_checkpoint(tmp_path / "bomb.npz")
    np.savez(tmp_path / "objects.npz", w=np.array([Evil(tmp_path / "ran")], object))
    with pytest.raises(CheckpointError, match="Python objects are not"):
        open_checkpoint(tmp_path / "objects.npz")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("file", ["../model.safetensors", "/etc/passwd", "..", "a/b.safetensors", "a\\b", 7])
def test_path_tricks_in_shard_indices(file, model, tmp_path):
    folder = tiny.write_sharded(tmp_path / "m", *model)
    index = folder / "model.safetensors.index.json"
    found = json.loads(index.read_text())
    found["weight_map"][next(iter(found["weight_map"]))] = file
    index.write_text(json.dumps(found))
    with pytest.raises(CheckpointError, match="not a file of this folder"):
        open_checkpoint(folder)


def test_shards_that_are_missing_or_disagree(model, tmp_path):
    folder = tiny.write_sharded(tmp_path / "m", *model)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match="missing"):
        open_checkpoint(folder)
    tiny.write_sharded(folder, *model)
    index = folder / "model.safetensors.index.json"
    found = json.loads(index.read_text())
    found["weight_map"]["nobody.weight"] = "model-00001-of-00002.safetensors"
    index.write_text(json.dumps(found))
    with pytest.raises(CheckpointError, match="in no shard"):
        open_checkpoint(folder)


def test_folders_and_special_files(tmp_path):
    with pytest.raises(CheckpointError, match="no such file"):
        open_checkpoint(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="no file with weights"):
        open_checkpoint(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="regular file"):
        open_checkpoint(tmp_path / "pipe")
