"""Which reader a path needs: by what is in it, not by its name."""

from __future__ import annotations

import stat
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.readers.gguf import read_gguf
from certiformer.checkpoints.readers.npz import read_npz
from certiformer.checkpoints.readers.safetensors import read_safetensors
from certiformer.checkpoints.readers.torch import LEGACY_START, read_legacy, read_zip
from certiformer.checkpoints.tensors import Checkpoint, Tensor
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.core.zip_reader import BROKEN

INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
SINGLE = ("model.safetensors", "adapter_model.safetensors", "pytorch_model.bin", "adapter_model.bin")
PATTERNS = ("*.safetensors", "*.gguf", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.npz")
KNOWN = "safetensors, PyTorch (zip or legacy), GGUF, npz, or a folder with one of them"


def open_checkpoint(path: str | Path) -> Checkpoint:
    """The tensors of a file or folder, on disk until they are read, with config.json where there is one."""
    target = Path(path)
    try:
        if target.is_dir():
            return _folder(target)
        found = _file(target)
        beside = target.parent / "config.json"
        if not found.config and beside.is_file():
            return replace(found, config=read_json(beside, "config.json", unique=True))
        return found
    except (OSError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, CertiformerError):
            raise
        problem = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise CheckpointError(target, f"cannot be read ({shown(problem)})") from None


def _file(path: Path) -> Checkpoint:
    if not path.exists():
        raise CheckpointError(path, "no such file or folder")
    if not stat.S_ISREG(path.stat().st_mode):
        raise CheckpointError(path, "is no regular file")
    with path.open("rb") as file:
        start = file.read(len(LEGACY_START))
    if not start:
        raise CheckpointError(path, "is empty")
    if start[:4] == b"GGUF":
        return read_gguf(path)
    if start[:4] == b"PK\x03\x04":
        return _zip(path)
    if start == LEGACY_START:
        return read_legacy(path)
    if start[8:9] == b"{":
        return read_safetensors(path)
    if start[:8] == b"version " or start[:7] == b"<!DOCTY":
        raise CheckpointError(path, "is a pointer or a web page, not the weights", "Download the file itself")
    raise CheckpointError(path, "is in no known format", f"Known: {KNOWN}")


def _zip(path: Path) -> Checkpoint:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if any(name.split("/")[-1] == "data.pkl" for name in names):
                return read_zip(path, archive)
            if any(name.endswith(".npy") for name in names):
                return read_npz(path, archive)
    except CheckpointError:
        raise
    except BROKEN as error:
        raise CheckpointError(path, f"a broken archive ({shown(error)})") from None
    raise CheckpointError(path, "an archive without tensors (no data.pkl, no .npy)")


def _folder(folder: Path) -> Checkpoint:
    config: dict[str, Any] = {}
    if (folder / "config.json").is_file():
        config = read_json(folder / "config.json", "config.json", unique=True)
    for name in INDICES:
        if (folder / name).is_file():
            return replace(_sharded(folder, folder / name), config=config)
    for name in SINGLE:
        if (folder / name).is_file():
            found = _file(folder / name)
            return replace(found, path=folder, config=found.config or config)
    candidates = sorted({file for pattern in PATTERNS for file in folder.glob(pattern) if file.is_file()})
    weights = [file for file in candidates if file.name not in ("training_args.bin", "optimizer.pt", "scheduler.pt")]
    if len(weights) != 1:
        names = ", ".join(shown(file.name) for file in weights[:8])
        problem = f"several files with weights ({names})" if weights else "no file with weights"
        raise CheckpointError(folder, problem, "Name the file" if weights else f"Known: {KNOWN}")
    found = _file(weights[0])
    return replace(found, path=folder, config=found.config or config)


def _sharded(folder: Path, index: Path) -> Checkpoint:
    places = read_json(index, "the index of shards", unique=True).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(index, "has no weight_map")
    for name, file in places.items():
        if not isinstance(file, str) or file != Path(file).name or file in ("", ".", "..") or "\\" in file:
            raise CheckpointError(index, f"the shard of {shown(name)} is {shown(file)}, not a file of this folder")
    tensors: dict[str, Tensor] = {}
    remarks: list[str] = []
    for file in dict.fromkeys(places.values()):
        if not (folder / file).is_file():
            raise CheckpointError(folder, f"shard {shown(file)} is missing")
        shard = _file(folder / file)
        for name, tensor in shard.tensors.items():
            if name in tensors:
                raise CheckpointError(folder, f"tensor {shown(name)} is in two shards")
            tensors[name] = tensor
            if places.get(name) != file:
                remarks.append(f"{shown(name)} is in {shown(file)}, which the index does not say")
    missing = [name for name in places if name not in tensors]
    if missing:
        raise CheckpointError(folder, f"{len(missing)} tensors of the index are in no shard, first {shown(missing[0])}")
    return Checkpoint(folder, "sharded", tensors, {}, tuple(remarks))
