"""Mutated files that keep enough structure to get past the first check: one mutator for each kind of format."""

from __future__ import annotations

import ast
import copy
import io
import json
import random
import sqlite3
import struct
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Mutator = Callable[[bytes, random.Random], bytes]
NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63), 10**40, 0.5, -0.0, 1e308, float("inf"), float("nan"), 300_000_000)
ODD: tuple[Any, ...] = (*NUMBERS, None, True, False, "", "0", "\x1b[31m", "a\nb", "\ud800", "é" * 300, "../../x", [],
                        {}, [[]], [None], {"": 0}, [1, "a", None], "1e999", "nan")  # fmt: skip
RAW = ("9" * 5000, "[" * 3000 + "]" * 3000, '{"a":' * 2000 + "1" + "}" * 2000, "1e400", "NaN", '"\\ud800"', "")


def raw(data: bytes, rng: random.Random) -> bytes:
    """One to eight wounds: flipped bits, overwritten numbers, cuts, copies, swaps; mostly near the ends."""
    wounded = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if not wounded:
            break
        near = rng.random()
        limit = min(len(wounded), 600)
        at = rng.randrange(limit) if near < 0.5 else len(wounded) - 1 - rng.randrange(limit)
        at = rng.randrange(len(wounded)) if near > 0.85 else at
        kind = rng.randrange(7)
        if kind == 0:
            wounded[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            wounded[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif kind == 2:
            wounded[at : at + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, (2**40).to_bytes(8, "little")))
        elif kind == 3:
            del wounded[at:]
        elif kind == 4:
            wounded[at:at] = wounded[at : at + rng.randrange(64)]
        elif kind == 5:
            del wounded[at : at + rng.randrange(32)]
        else:
            wounded[at : at + 4] = rng.choice((b"9999", b"-1, ", b"]]]]", b'"":{', b"cos\n", b"R.R."))
    return bytes(wounded)


def json_text(data: bytes, rng: random.Random) -> bytes:
    """A node of the tree replaced, dropped, doubled or renamed; or put in as text that no parser should trust."""
    try:
        tree = json.loads(data)
    except ValueError:
        return raw(data, rng)
    for _ in range(rng.randint(1, 3)):
        tree = _wounded(tree, rng)
    text = json.dumps(tree)
    if rng.random() < 0.15:
        text = text.replace(json.dumps("<hole>"), rng.choice(RAW), 1) if '"<hole>"' in text else rng.choice(RAW)
    return text.encode()


def _wounded(tree: Any, rng: random.Random) -> Any:
    parents = [node for node in _nodes(tree) if node]
    if not parents or rng.random() < 0.03:
        return copy.deepcopy(rng.choice(ODD))
    node = rng.choice(parents)
    key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
    kind = rng.randrange(6)
    if kind <= 2:
        node[key] = copy.deepcopy(rng.choice((*ODD, "<hole>")))
    elif kind == 3:
        del node[key]
    elif kind == 4 and isinstance(node, dict):
        node[str(rng.choice(ODD))] = node.pop(key)
    else:
        other = rng.choice(parents)
        node[key] = json.loads(json.dumps(other)) if len(json.dumps(other)) < 10_000 else None
    return tree


def _nodes(tree: Any) -> list[Any]:
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (dict, list)):
            found.append(node)
            stack.extend(node.values() if isinstance(node, dict) else node)
    return found


def json_lines(data: bytes, rng: random.Random) -> bytes:
    """A line mutated as JSON, dropped, doubled or swapped."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind <= 2:
        lines[at] = json_text(lines[at], rng)
    elif kind == 3:
        lines[at:at] = [lines[rng.randrange(len(lines))]]
    else:
        del lines[at]
    return b"\n".join(lines)


def cells(data: bytes, rng: random.Random) -> bytes:
    """A cell of a CSV table, or of a line of TOML, replaced by something else."""
    lines = data.decode().split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        mark = "," if "," in lines[at] else "="
        parts = lines[at].split(mark)
        parts[rng.randrange(len(parts))] = str(rng.choice((*ODD, *RAW[:3], '"', "[[", "'''", "{ a = 1")))
        lines[at] = mark.join(parts)
    return "\n".join(lines).encode("utf-8", errors="surrogatepass")


def toml(texts: Iterable[str]) -> Mutator:
    """One of these texts with a node of its tree replaced, dropped, doubled or renamed."""
    trees = [tomllib.loads(text) for text in texts]

    def mutate(data: bytes, rng: random.Random) -> bytes:
        tree = copy.deepcopy(rng.choice(trees))
        for _ in range(rng.randint(1, 3)):
            tree = _wounded(tree, rng)
        lines = (
            [f"{json.dumps(str(key))} = {_toml(part)}" for key, part in tree.items()] if isinstance(tree, dict) else []
        )
        return "\n".join(lines).encode("utf-8", errors="surrogatepass")

    return mutate


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return '"none"' if value is None else json.dumps(value)


def gguf(data: bytes, rng: random.Random) -> bytes:
    """Numbers of the header replaced: version, counts, lengths, types, sizes, offsets."""
    fields, at = [(4, "<I"), (8, "<Q"), (16, "<Q")], 24
    tensors, notes = struct.unpack("<QQ", data[8:24])

    def text(at: int) -> int:
        fields.append((at, "<Q"))
        return at + 8 + int(struct.unpack("<Q", data[at : at + 8])[0])

    for _ in range(notes):
        at = text(at)
        fields.append((at, "<I"))
        kind, at = data[at], at + 4
        if kind != 8:
            fields.append((at, "<I"))
        at = text(at) if kind == 8 else at + 4
    for _ in range(tensors):
        at = text(at)
        axes = struct.unpack("<I", data[at : at + 4])[0]
        fields += [(at, "<I"), *((at + 4 + 8 * axis, "<Q") for axis in range(axes))]
        at += 4 + 8 * axes
        fields += [(at, "<I"), (at + 4, "<Q")]
        at += 12
    wounded = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place, kind = rng.choice(fields)
        most = 2**32 if kind == "<I" else 2**64
        odd = (0, 1, 2, 7, 8, 9, 32, most - 1, most // 2, 2**31, 2**20, rng.randrange(64), rng.randrange(most))
        struct.pack_into(kind, wounded, place, rng.choice(odd) % most)
    return bytes(wounded)


def parquet(data: bytes, rng: random.Random) -> bytes:
    """A column of another type, with holes, nested, named twice or not at all."""
    import pyarrow
    from pyarrow import parquet as files

    table = files.read_table(io.BytesIO(data))
    columns, names, n = list(table.columns), list(table.column_names), len(table)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(columns))
        odd = rng.choice(
            (
                pyarrow.array([None] * n),
                pyarrow.array([rng.choice((None, 0, 1, 2)) for _ in range(n)]),
                pyarrow.array([[1, 2]] * n),
                pyarrow.array([[0.1, 0.2, 0.7], None] * (n // 2)),
                pyarrow.array([{"a": 1}] * n),
                pyarrow.array([b"\xff"] * n),
                pyarrow.array([rng.choice(("a", "", "\x1b[31m", "é" * 300)) for _ in range(n)]).dictionary_encode(),
                pyarrow.array([rng.choice((0.5, float("nan"), float("inf"), -1e308)) for _ in range(n)]),
                pyarrow.array([rng.choice((0, 2**63 - 1, -(2**63))) for _ in range(n)]),
                pyarrow.array([2**64 - 1] * n, pyarrow.uint64()),
                pyarrow.array([1] * n, pyarrow.decimal128(5, 2)),
                pyarrow.array([1] * n, pyarrow.timestamp("s")),
                pyarrow.array([1.5] * n, pyarrow.float16()),
                pyarrow.array([True, False] * (n // 2)),
            )
        )
        if rng.random() < 0.8:
            columns[at] = odd
        else:
            columns, names = [*columns, odd], [*names, rng.choice((names[at], "", "metadata", "correct", "confidence"))]
        if rng.random() < 0.2:
            names[at] = rng.choice(("", "a" * 500, "\x1b", "id", "prediction", "score"))
    out = io.BytesIO()
    files.write_table(pyarrow.Table.from_arrays(columns, names), out)
    return out.getvalue()


def npy(data: bytes, rng: random.Random) -> bytes:
    """The header of an array says something else: shape, type, order, or no dictionary at all."""
    if data[:6] != b"\x93NUMPY" or rng.random() < 0.2:
        return raw(data, rng)
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    key = rng.choice(list(header))
    odd = ((-1,), (2**62,), (10**12, 0), (0,), (), (1,) * 40, (2**31, 2**31), "3", None, 7, (True,), ("a",), (1.5,))
    types = (
        "|O",
        "<f8",
        ">f4",
        "<U0",
        "|V0",
        "<U1000000000",
        "|S3",
        "<c16",
        "<M8[s]",
        [("a", "<f8")],
        "x",
        None,
        "|b1",
    )
    header[key] = rng.choice({"shape": odd, "descr": types}.get(key, (True, None, "no")))
    text = repr(header) if rng.random() < 0.8 else rng.choice(("{", "(" * 500, "{'descr': '<f8',", "\0", "1L", "'''"))
    line = text.encode() + b"\n"
    return data[:8] + struct.pack("<H", min(len(line), 65535)) + line + data[10 + length :]


def archive(inner: Mutator) -> Mutator:
    """A zip whose member is mutated by `inner`, dropped, doubled, renamed or inflated; or wounded as bytes."""

    def mutate(data: bytes, rng: random.Random) -> bytes:
        if rng.random() < 0.25:
            return raw(data, rng)
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            members = [(info, opened.read(info)) for info in opened.infolist()]
        at = rng.randrange(len(members))
        info, content = members[at]
        kind, way = rng.randrange(8), info.compress_type
        if kind <= 4:
            content = inner(content, rng)
        elif kind == 5:
            content, way = content + b"\0" * 10**6, zipfile.ZIP_DEFLATED
        name = rng.choice(("", "../x", "a" * 500, info.filename + "\0")) if kind == 6 else info.filename
        changed = [(one.filename, text, one.compress_type) for one, text in members]
        changed[at] = name, content, way
        if kind == 7:
            del changed[at]
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as made:
            for name, text, compression in changed:
                made.writestr(zipfile.ZipInfo(name), text, compress_type=compression)
        return out.getvalue()

    return mutate


def safetensors(data: bytes, rng: random.Random) -> bytes:
    """The header mutated as JSON; settings inside its metadata too."""
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length]
    if rng.random() < 0.3:
        tree = json.loads(header)
        notes = tree.get("__metadata__", {})
        texts = [name for name, text in notes.items() if text[:1] in "{["]
        if texts:
            name = rng.choice(texts)
            notes[name] = json_text(notes[name].encode(), rng).decode("utf-8", errors="replace")
            header = json.dumps(tree).encode()
    else:
        header = json_text(header, rng)
    size = len(header) if rng.random() < 0.9 else rng.choice((0, 2**20, 2**63, len(header) + 1))
    return size.to_bytes(8, "little") + header + data[8 + length :]


def pickled(data: bytes, rng: random.Random) -> bytes:
    """Operations of a pickle put in, taken out or repeated."""
    wounded = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(max(1, len(wounded)))
        odd = (b"}", b"]", b"(", b"t", b"s", b"u", b"R", b"h\x00", b"q\x00", b"\x94" * 50, b"}\x94" * 200,
               b"\x8a\xff" + b"\x7f" * 255, b"\x8b\xff\xff\x00\x00" + b"\x7f" * 65535, b"X\xff\xff\xff\x7f",
               b"\x8c\x05torch\x8c\x04Size\x93", b"I" + b"9" * 5000 + b"\n", b"cos\nsystem\n", b".")  # fmt: skip
        if rng.random() < 0.7:
            wounded[at:at] = rng.choice(odd)
        else:
            del wounded[at : at + rng.randrange(1, 9)]
    return bytes(wounded)


def database(data: bytes, rng: random.Random) -> bytes:
    """A cell of an SQLite file replaced; or wounds."""
    if rng.random() < 0.3:
        return raw(data, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        path.write_bytes(data)
        opened = sqlite3.connect(path)
        try:
            opened.execute("PRAGMA ignore_check_constraints = ON")
            opened.execute("PRAGMA journal_mode = DELETE")
            table = rng.choice(("runs", "arrays"))
            columns = [row[1] for row in opened.execute(f"PRAGMA table_info({table})")]
            column = rng.choice(columns)
            (key,) = rng.choice(opened.execute(f"SELECT key FROM {table}").fetchall())
            value = rng.choice(
                (*(odd for odd in ODD if isinstance(odd, (int, float, str)) and odd != "\ud800"), *RAW, b"x")
            )
            if isinstance(value, int) and abs(value) > 2**62:
                value = 7
            opened.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE key = ?", (value, key))
            opened.commit()
        except sqlite3.Error:
            pass
        finally:
            opened.close()
        return path.read_bytes()


def either(*mutators: Mutator) -> Mutator:
    """One of several."""
    return lambda data, rng: rng.choice(mutators)(data, rng)


def array(values: Any) -> bytes:
    """The bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, np.asarray(values))
    return out.getvalue()
