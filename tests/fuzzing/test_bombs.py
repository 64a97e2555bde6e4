"""Small files that ask for much: refused before the memory or the time is spent."""

from __future__ import annotations

import json
import resource
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from certiformer import certify
from certiformer.checkpoints import open_checkpoint
from certiformer.checkpoints.checkpoint_error import CheckpointError
from certiformer.reproduction.sweep.published_runs import read
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.json_reader import NotJson, parse_json
from certiformer.theory.networks.description import load as load_network
from checkpoints import tiny


def torch_file(path, pickled, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
    return path


@pytest.mark.parametrize(
    ("pickled", "words"),
    [
        (b"\x80\x02" + b"}" * 2_000_000 + b".", "operations"),
        (b"\x80\x02}" + b"\x94" * 2_000_000 + b".", "operations"),
        (b"\x80\x02}X" + struct.pack("<I", 2_000_000) + b"a" * 2_000_000 + b"}s.", "a name of more than"),
        (b"\x80\x02}\x8b" + struct.pack("<I", 100_000) + b"\x7f" * 100_000 + b"}s.", "a name of more than"),
    ],
)
def test_a_pickle_is_bounded_by_its_file(tmp_path, pickled, words):
    with pytest.raises(CheckpointError, match=words):
        open_checkpoint(torch_file(tmp_path / "x.pt", pickled))


def test_a_text_with_an_escape_sequence_that_is_none(tmp_path):
    with pytest.raises(CheckpointError, match="pickle"):
        open_checkpoint(torch_file(tmp_path / "x.pt", b"S'\\q'\n0."))


def test_tensors_of_a_gguf_file_do_not_overlap(tmp_path):
    path = tiny.write_gguf(tmp_path / "x.gguf", *tiny.llama())
    first, second = sorted(open_checkpoint(path).tensors)[:2]
    data = path.read_bytes()
    places = []
    for name in (first, second):
        stored = name.encode()
        at = data.index(struct.pack("<Q", len(stored)) + stored) + 8 + len(stored)
        axes = struct.unpack("<I", data[at : at + 4])[0]
        places.append(at + 4 + 8 * axes + 4)
    one, other = places
    path.write_bytes(data[:other] + data[one : one + 8] + data[other + 8 :])
    with pytest.raises(CheckpointError, match="overlap"):
        open_checkpoint(path)


def test_an_array_that_does_not_fit_into_its_file(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(20, bool))
    data = (tmp_path / "x.npy").read_bytes().replace(b"(20,), }      ", b"(10000000,), }")
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(InputError, match="does not fit"):
        certify(predictions=tmp_path / "x.npy")


@pytest.mark.parametrize("ending", ["npz", "eval"])
def test_a_zip_bomb(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("header.json", "w", force_zip64=True) as member,
    ):
        for _ in range(70):
            member.write(bytes(2**20))
    with pytest.raises(InputError, match="zip bomb"):
        certify(predictions=path)


def test_a_dictionary_larger_than_the_memory(tmp_path):
    """LZMA says itself how much memory it takes: four gigabytes in 9 bytes."""
    path = tmp_path / "x.runs"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in ("header.json", "runs.jsonl", "arrays.bin"):
            archive.writestr(name, "{}")
    data = path.read_bytes()
    start = data.index(b"header.json") + len("header.json") + 5  # the version, the length, and one byte before it
    path.write_bytes(data[:start] + b"\xff" * 4 + data[start + 4 :])
    kept = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, kept[1]))
    try:
        with pytest.raises(CertiformerError, match="asks for more memory"):
            read(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, kept)


def test_an_archive_of_small_values_is_a_zip_bomb_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", '{"status": "success", "eval": {}}')
        for number in range(3):
            archive.writestr(f"samples/{number}_epoch_1.json", '{"x": [' + "[]," * 2**19 + "0]}")
    with pytest.raises(InputError, match="too many values"):
        certify(predictions=tmp_path / "x.eval")
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.npy", bytes(2**25))
    with pytest.raises(InputError, match="zip bomb"):
        certify(predictions=tmp_path / "x.npz")


def test_a_long_cell_among_many_and_a_constant_column(tmp_path):
    """In memory every cell takes as much as the longest one; in Parquet an endless constant takes a few bytes."""
    (tmp_path / "x.csv").write_text("label,prediction\n" + "a" * 100_000 + ",a\n" + "a,a\n" * 20_000)
    with pytest.raises(InputError, match="the longest of 100,000 characters"):
        certify(predictions=tmp_path / "x.csv")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"correct": np.ones(17_000_000, np.int8)}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="too many for its size"):
        certify(predictions=tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 101 + "]" * 101, "nested too deeply"),
        ("[" * 9999, "nested too deeply|not JSON"),  # Python 3.14 reads to the end
        ("[" * 99_999 + "]" * 99_999, "nested too deeply"),
        ("9" * 301, "301 digits"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('["\\ud800"]', "surrogate"),
        (b"\xff", "UTF-8"),
        ("{", "not JSON"),
    ],
)
def test_json_of_strangers(text, words):
    with pytest.raises(NotJson, match=words):
        parse_json(text, object, unique=True)


def test_json_as_it_should_be():
    deep = json.dumps(["9" * 400, {"a": "\ud83d\ude00"}])
    assert parse_json(deep, list) == ["9" * 400, {"a": "\U0001f600"}]
    with pytest.raises(NotJson, match="not a JSON object"):
        parse_json("[1]")


@pytest.mark.parametrize("letter", ["9", "a"])
def test_a_name_of_any_length_makes_a_short_line(tmp_path, letter):
    (tmp_path / "x.toml").write_text(f"[[blocks]]\n{letter * 100_000} = 1\n")
    with pytest.raises(CertiformerError) as refused:
        load_network(tmp_path / "x.toml")
    assert len(str(refused.value)) < 2_000
    assert len(str(UnknownNameError("result", letter * 100_000, ["deora.thm1"]))) < 2_000


BLOCK = "[tokens]\ndimension = 4\npositions = 4\nradius = 1\n[weights.default]\nspectral = 1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("blocks = 3", "blocks: got 3, expected array"),
        ("radii = 3", "radii: got 3, expected array"),
        ('radii = ["a"]', "expected number"),
        (BLOCK + "[[blocks]]\nrepeat = 2147483648", "at most 1,000 blocks"),
        (BLOCK + "[[blocks]]\nkind = []", "a word"),
        (BLOCK + "[[blocks]]\nnorm = 'pre'\nnormalisation = { kind = {} }", "a word"),
        (BLOCK + "blocks = 3", "blocks: got 3, expected array"),
        (BLOCK + 'reference = { spectral = "a" }', "expected number"),
    ],
)
def test_a_description_of_another_shape(tmp_path, text, words):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        load_network(tmp_path / "x.toml")


def test_columns_of_one_name(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_arrays([pyarrow.array([1, 0])] * 2, ["correct", "correct"])
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="Two are called 'correct'"):
        certify(predictions=tmp_path / "x.parquet")
