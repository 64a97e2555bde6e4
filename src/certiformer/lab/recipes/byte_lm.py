r"""A language model in one pass: every document is scored before it is learnt.

A byte's context is embedded by a small Transformer (`lab.models.byte_lm`) and by six hashed tables: the last 2 to 6
bytes, and the current with the previous word. The tables start at zero and learn by row-wise Adagrad, so that only the
rows a document touches are ever moved. Loss of a document y of n bytes, with smoothing a:
l(y) = -(1/n) log2((1 - a) P(y) + a 256^-n), which lies in [0, 8 + log2(1/a)/n].
The weights change after every `batch` documents, whatever their lengths; the rate depends on the document's number.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from certiformer.certification.losses import LEAST_EXAMPLES
from certiformer.lab.models.byte_lm import ByteLM, ByteLMConfig
from certiformer.lab.training.checkpoint import from_arrays, to_arrays
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.regular_file import regular
from certiformer.theory.core.whole_files import whole_file
from certiformer.theory.core.zip_reader import BROKEN

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]

ORDERS = (2, 3, 4, 5, 6)
TABLES = len(ORDERS) + 1
PADDED = 512
LEAST_DOCUMENTS = 200
SHARED = 64
"""Bytes in a row that two documents of a language rarely share by chance."""
HELDOUT = "heldout_losses_bits per byte"
"""The array of the held-out losses: its name is what the report says they are."""
WRITTEN = ("progressive_losses", "progressive_bytes", "progressive_cut", "progressive_skip", HELDOUT)
"""The arrays that `write_losses` writes and `certify` reads."""
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Settings:
    """Everything that is chosen before the documents are seen."""

    documents: int = 8_000
    heldout: int = 2_000
    skip: int = 4_000
    seed: int = 0
    cut: int = 2048
    least: int = 32
    smoothing: float = 0.01
    batch: int = 2
    rows: int = 2**19
    rate: float = 2e-3
    table_rate: float = 0.2
    warm_up: int = 100
    width: int = 128
    blocks: int = 3
    heads: int = 2

    @property
    def highest(self) -> float:
        """The largest loss that a document can have, in bits per byte."""
        return 8 + math.log2(1 / self.smoothing) / self.least

    def rate_at(self, document: int) -> float:
        """Up over the warm-up, then down in a straight line to a tenth at the last document."""
        up = min(1.0, (document + 1) / self.warm_up)
        return self.rate * up * (1 - 0.9 * min(1.0, document / self.documents))


@dataclass(frozen=True)
class Corpus:
    """Distinct documents in the order of the pass, those held out apart."""

    heldout: tuple[bytes, ...]
    stream: tuple[bytes, ...]
    duplicates: int
    short: int

    @property
    def digest(self) -> str:
        seen = hashlib.sha256()
        for one in (*self.heldout, *self.stream):
            seen.update(len(one).to_bytes(8, "little") + one)
        return seen.hexdigest()


def corpus(texts: Sequence[str], settings: Settings) -> Corpus:
    """Exact duplicates and documents below `least` bytes go, the seed shuffles, the first `heldout` are held out."""
    whole = [text.encode() for text in dict.fromkeys(texts)]
    kept = [one[: settings.cut] for one in whole if len(one) >= settings.least]
    if len(kept) < LEAST_DOCUMENTS:
        raise InputError(
            "--text",
            f"{len(kept)} distinct documents of at least {settings.least} bytes",
            f"at least {LEAST_DOCUMENTS}",
            "Give more files, or a JSONL file with one document per line.",
        )
    if len(kept) < settings.heldout + settings.documents:
        raise InputError(
            "documents",
            f"{settings.documents} + {settings.heldout} held out",
            f"at most {len(kept)} in all, the distinct documents given",
            "Set documents and heldout, e.g. --set documents=1000 --set heldout=200.",
        )
    order = np.random.default_rng(settings.seed).permutation(len(kept))
    drawn = tuple(kept[i] for i in order[: settings.heldout + settings.documents])
    return Corpus(drawn[: settings.heldout], drawn[settings.heldout :], len(texts) - len(whole), len(whole) - len(kept))


def near_duplicates(data: Corpus) -> list[bool]:
    """Which held-out documents share `SHARED` bytes in a row with a document of the pass."""
    half = SHARED // 2  # any run of SHARED bytes holds a whole block of this length
    blocks: dict[bytes, list[tuple[bytes, int]]] = {}
    for one in data.stream:
        for at in range(0, len(one) - half + 1, half):
            blocks.setdefault(one[at : at + half], []).append((one, at))

    def shared(here: bytes, i: int, there: bytes, j: int) -> bool:
        back = 0  # the run of equal bytes begins so far before the block
        while back < min(i, j, SHARED) and here[i - back - 1] == there[j - back - 1]:
            back += 1
        run = here[i - back : i - back + SHARED]
        return len(run) == SHARED and there.startswith(run, j - back)

    def repeats(one: bytes) -> bool:
        places = range(len(one) - half + 1)
        return any(shared(one, i, *found) for i in places for found in blocks.get(one[i : i + half], ()))

    return [repeats(one) for one in data.heldout]


def chosen(given: Mapping[str, Any]) -> Settings:
    """Settings by name; the names and the numbers are checked."""
    known = {one.name: one.type for one in fields(Settings)}
    for name, value in given.items():
        if name not in known:
            raise InputError("--set", name, f"one of {', '.join(known)}")
        whole = known[name] == "int"
        right = int if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, right) or not 0 <= value < math.inf:
            raise InputError(name, value, "a whole number" if whole else "a positive number")
    settings = Settings(**given)
    if not 0 < settings.smoothing < 1:
        raise InputError("smoothing", settings.smoothing, "a number between 0 and 1")
    for name in ("documents", "batch", "rows", "warm_up", "least", "cut"):
        if getattr(settings, name) < 1:
            raise InputError(name, getattr(settings, name), "at least 1")
    if settings.cut < settings.least:
        raise InputError("cut", settings.cut, f"at least least = {settings.least}", "A shorter text has a larger range")
    if settings.heldout < LEAST_EXAMPLES:
        raise InputError("heldout", settings.heldout, f"at least {LEAST_EXAMPLES} documents")
    if settings.skip >= settings.documents:
        raise InputError("skip", settings.skip, f"fewer than the {settings.documents} documents of the pass")
    return settings


def texts(paths: Sequence[Path], column: str) -> list[str]:
    """Documents: a text file each, the *.txt files of a folder, or the rows of JSONL files."""
    found = []
    for path in paths:
        if path.is_dir():
            found += texts(sorted(path.rglob("*.txt")), column)
            continue
        try:
            whole = regular(path, "--text", "a text file, a folder of them, or JSONL").read_bytes().decode()
        except OSError as error:
            raise InputError("--text", str(path), "a file that can be read", str(error.strerror)) from error
        except UnicodeDecodeError as error:
            raise InputError("--text", str(path), "text in UTF-8", f"Byte {error.start} is none") from error
        if not whole.strip():
            raise InputError("--text", str(path), "a text", "The file is empty")
        found += _rows(path, whole, column) if path.suffix in (".jsonl", ".ndjson") else [whole]
    return found


def _rows(path: Path, whole: str, column: str) -> list[str]:
    found = []
    for number, line in enumerate(whole.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError("--text", f"line {number} of {path}", "JSON", str(error)) from error
        if not isinstance(row, dict) or column not in row:
            names = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
            raise InputError("--column", column, f"one of the columns of line {number} of {path}: {names}")
        text = row[column]
        if not isinstance(text, str) or not text.strip():
            raise InputError("--text", f"line {number} of {path}", f"a text that is not empty in {column}")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError("--text", f"line {number} of {path}", "text in UTF-8", "It has half of a character")
        found.append(text)
    return found


# --- contexts ---------------------------------------------------------------------------------------------------------


def contexts(document: bytes, rows: int) -> npt.NDArray[np.int64]:
    """Rows of the six tables at every byte of a document, from the bytes before it alone."""
    before = np.frombuffer(b"\0" * max(ORDERS) + document[:-1], np.uint8).astype(np.uint64)
    n = len(document)
    found = np.empty((n, TABLES), np.int64)
    for j, order in enumerate(ORDERS):
        key = np.full(n, order, np.uint64)
        for back in range(order):
            key = key * np.uint64(257) + before[max(ORDERS) - 1 - back :][:n]
        found[:, j] = _row(key, rows)
    found[:, -1] = _row(_words(document), rows)
    return found + np.arange(TABLES) * rows


def _row(key: npt.NDArray[np.uint64], rows: int) -> npt.NDArray[np.int64]:
    mixed = key * MULTIPLIER
    mixed = (mixed ^ (mixed >> np.uint64(29))) * MULTIPLIER
    return ((mixed >> np.uint64(32)) % np.uint64(rows)).astype(np.int64)


def _words(document: bytes) -> npt.NDArray[np.uint64]:
    """At every byte, a hash of the letters of the current word so far and of the word before."""
    keys = np.empty(len(document), np.uint64)
    word, previous = 0, 0
    for i, byte in enumerate(document):
        keys[i] = (word * 0x100000001B3 + previous) & 0xFFFFFFFFFFFFFFFF
        letter = byte | 32
        if 97 <= letter <= 122 or byte >= 128:
            word = (word * 263 + letter + 1) & 0xFFFFFFFFFFFF
        elif word:
            word, previous = 0, word
    return keys


# --- the model --------------------------------------------------------------------------------------------------------


@dataclass
class State:
    """Dense weights with Adam's memory, the tables with Adagrad's, and the losses of the documents scored so far."""

    model: ByteLM
    memory: Any
    tables: npt.NDArray[np.float32]
    squares: npt.NDArray[np.float32]
    bits: list[float]
    """-log2 P of the documents of the pass."""
    heldout: list[float]

    @classmethod
    def start(cls, settings: Settings) -> State:
        config = ByteLMConfig(width=settings.width, blocks=settings.blocks, heads=settings.heads)
        model = ByteLM.init(jax.random.key(settings.seed), config)
        tables = np.zeros((TABLES * settings.rows, settings.width), np.float32)
        squares = np.zeros(len(tables), np.float32)
        return cls(model, OPTIMISER.init(eqx.filter(model, eqx.is_array)), tables, squares, [], [])

    def weights(self) -> Arrays:
        """The network alone, as it is saved in the end."""
        return to_arrays(eqx.filter(self.model, eqx.is_array), "model") | {"tables": self.tables}

    def arrays(self) -> Arrays:
        losses = {"bits": np.array(self.bits), "heldout": np.array(self.heldout)}
        return self.weights() | to_arrays(self.memory, "memory") | {"squares": self.squares} | losses

    def restored(self, arrays: Arrays) -> State:
        model = from_arrays(eqx.filter(self.model, eqx.is_array), arrays, "model")
        return State(
            eqx.combine(model, self.model),
            from_arrays(self.memory, arrays, "memory"),
            arrays["tables"],
            arrays["squares"],
            list(arrays["bits"]),
            list(arrays["heldout"]),
        )


OPTIMISER = optax.scale_by_adam(b1=0.9, b2=0.99)


@dataclass(frozen=True)
class Batch:
    """Documents one after the other, filled up to a multiple of 512 positions (document -1)."""

    last: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    document: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(cls, documents: Sequence[bytes], rows: int) -> Batch:
        n = sum(map(len, documents))
        size = -(-n // PADDED) * PADDED
        last, target, document = np.zeros(size, np.int32), np.zeros(size, np.int32), np.full(size, -1, np.int32)
        target[:n] = np.frombuffer(b"".join(documents), np.uint8)
        last[:n] = np.frombuffer(b"".join(b"\0" + one[:-1] for one in documents), np.uint8)
        document[:n] = np.repeat(np.arange(len(documents)), [len(one) for one in documents])
        return cls(last, target, document, np.concatenate([contexts(one, rows) for one in documents]))

    def embedded(self, tables: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        before = np.zeros((len(self.last), tables.shape[1]), np.float32)
        total = before[: len(self.rows)]
        for j in range(TABLES):
            total += tables[self.rows[:, j]]
        return before

    def bits(self, logits: npt.NDArray[np.float32]) -> list[float]:
        """-log2 P of every document, in double precision: the probabilities of a byte sum to one."""
        n = len(self.rows)
        wide = logits[:n].astype(np.float64)
        wide -= wide.max(axis=1, keepdims=True)
        spent = np.log2(np.exp(wide).sum(axis=1)) - wide[np.arange(n), self.target[:n]] / math.log(2)
        return [float(total) for total in np.bincount(self.document[:n], weights=spent)]


def _loss(parts: Any, static: Any, last: Any, target: Any, document: Any) -> Any:
    model, before = parts
    logits = eqx.combine(model, static)(last, before, document)
    spent = optax.softmax_cross_entropy_with_integer_labels(logits, target)
    inside = document >= 0
    return jnp.sum(jnp.where(inside, spent, 0.0)) / jnp.sum(inside), logits


@eqx.filter_jit
def _step(model: ByteLM, memory: Any, rate: Any, before: Any, last: Any, target: Any, document: Any) -> Any:
    dense, static = eqx.partition(model, eqx.is_array)
    (_, logits), (gradient, outer) = jax.value_and_grad(_loss, has_aux=True)(
        (dense, before), static, last, target, document
    )
    updates, memory = OPTIMISER.update(gradient, memory)
    moved = jax.tree.map(lambda w, u: w - rate * u, dense, updates)
    return eqx.combine(moved, static), memory, logits, outer


@eqx.filter_jit
def _logits(model: ByteLM, before: Any, last: Any, document: Any) -> Any:
    return model(last, before, document)


def learn(state: State, batch: Batch, rate: float, table_rate: float) -> list[float]:
    """Bits of the documents by the weights as they stand; afterwards the weights have learnt them."""
    model, memory, logits, outer = _step(
        state.model,
        state.memory,
        jnp.float32(rate),
        batch.embedded(state.tables),
        batch.last,
        batch.target,
        batch.document,
    )
    found = batch.bits(np.asarray(logits))
    state.model, state.memory = model, memory
    gradient = np.asarray(outer)[: len(batch.rows)]
    for j in range(TABLES):
        _adagrad(state.tables, state.squares, batch.rows[:, j], gradient, table_rate)
    return found


def _adagrad(tables: Any, squares: Any, rows: npt.NDArray[np.int64], gradient: Any, rate: float) -> None:
    order = np.argsort(rows, kind="stable")
    touched, first = np.unique(rows[order], return_index=True)
    total = np.add.reduceat(gradient[order], first, axis=0)
    squares[touched] += np.mean(np.square(total), axis=1)
    tables[touched] -= rate * total / np.sqrt(squares[touched] + 1e-16)[:, None]


# --- the pass ---------------------------------------------------------------------------------------------------------


def smoothed(bits: npt.ArrayLike, sizes: npt.ArrayLike, smoothing: float) -> Floats:
    """-(1/n) log2((1 - a) 2^-bits + a 256^-n): bits per byte, never above 8 + log2(1/a)/n."""
    n = np.asarray(sizes, np.float64)
    model = math.log2(1 - smoothing) - np.asarray(bits, np.float64)
    return -np.logaddexp2(model, math.log2(smoothing) - 8 * n) / n


def run(
    data: Corpus,
    settings: Settings,
    running: Path,
    *,
    every_seconds: float = 300.0,
    minutes: float = math.inf,
    say: Callable[[int, float], None] = lambda done, mean: None,
) -> State:
    """One pass and then the hold-out; continues from `running`, bit for bit, if that file is of the same run.

    After so many minutes the pass ends where it is: its limit holds for all lengths at once, so that stopping is free.
    """
    header = json.dumps({"settings": asdict(settings), "data": data.digest}, sort_keys=True)
    state = State.start(settings)
    if running.exists():
        state = kept(running, header, state)
    started = saved = time.monotonic()
    over = bool(state.heldout)

    def keep(always: bool = False) -> None:
        nonlocal saved
        if always or time.monotonic() - saved > every_seconds:
            save(running, {"header": np.frombuffer(header.encode(), np.uint8), **state.arrays()})
            saved = time.monotonic()

    for at in range(len(state.bits), len(data.stream), settings.batch):
        if over or time.monotonic() - started > 60 * minutes:
            break
        documents = data.stream[at : at + settings.batch]
        state.bits += learn(state, Batch.of(documents, settings.rows), settings.rate_at(at), settings.table_rate)
        recent = slice(max(0, at - 200), at + len(documents))
        sizes = [len(one) for one in data.stream[recent]]
        say(len(state.bits), float(np.mean(smoothed(state.bits[recent], sizes, settings.smoothing))))
        keep()
    keep(always=True)
    for at in range(len(state.heldout), len(data.heldout), settings.batch):
        batch = Batch.of(data.heldout[at : at + settings.batch], settings.rows)
        logits = _logits(state.model, batch.embedded(state.tables), batch.last, batch.document)
        state.heldout += batch.bits(np.asarray(logits))
        keep()
    keep(always=True)
    return state


def save(path: Path, arrays: dict[str, Any]) -> None:
    """All of it or nothing: a kill leaves the state before or the new one."""
    with whole_file(path) as file:
        np.savez(file, **arrays)


def kept(running: Path, header: str, state: State) -> State:
    """The state in a file that a run of the same settings and documents left."""
    wanted = "what a run of the same settings and documents left there"
    place = regular(running, "running state", wanted)
    try:
        with place.open("rb") as content, np.load(content, allow_pickle=False) as file:
            arrays = dict(file)
        if bytes(arrays.pop("header")).decode() == header:
            return state.restored(arrays)
    except (*BROKEN, KeyError, TypeError) as error:
        raise InputError("running state", str(running), wanted, "It is damaged: --no-resume begins anew") from error
    raise InputError("running state", str(running), wanted, "Or --no-resume")


def write_losses(path: Path, data: Corpus, state: State, settings: Settings) -> dict[str, Any]:
    """What `certify` reads, in the order of the pass; returns what was measured."""
    passed, heldout = (
        [len(one) for one in documents[: len(bits)]]
        for documents, bits in ((data.stream, state.bits), (data.heldout, state.heldout))
    )
    losses = smoothed(state.bits, passed, settings.smoothing)
    unseen = smoothed(state.heldout, heldout, settings.smoothing)
    parts = (losses, np.array(passed), np.array(settings.cut), np.array(settings.skip), unseen)
    found: dict[str, Any] = dict(zip(WRITTEN, parts, strict=True))
    with whole_file(path) as file:
        np.savez_compressed(file, **found)
    late = losses[settings.skip :]
    return {
        "documents": len(state.bits),
        "duplicates_removed": data.duplicates,
        "too_short": data.short,
        "near_duplicates_heldout": sum(near_duplicates(data)),
        "bits_per_byte_after_skip": float(np.mean(late)) if len(late) else None,
        "bits_per_byte_heldout": float(np.mean(unseen)),
        "skip": settings.skip,
        "range": [0.0, settings.highest],
    }
