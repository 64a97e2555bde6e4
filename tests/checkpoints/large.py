"""A sharded model much larger than the memory it may use, inspected in a process of its own.

    python large.py ROWS MEGABYTES FOLDER

Writes sparse files (word table and head of ROWS x 64 halves), forbids more than MEGABYTES of new private memory, and
inspects. Prints the peak and the number of parameters.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["CERTIFORMER_CACHE"] = str(Path(sys.argv[3]) / "cache")

import numpy as np

from certiformer.checkpoints import inspect
from checkpoints import tiny

WIDTH = 64


def write_sparse(path: Path, name: str, rows: int) -> None:
    """One F16 tensor of rows x WIDTH, zero but for its first and last rows, taking almost no space on disk."""
    size = rows * WIDTH * 2
    header = json.dumps({name: {"dtype": "F16", "shape": [rows, WIDTH], "data_offsets": [0, size]}}).encode()
    header += b" " * (-len(header) % 8)
    few = np.random.default_rng(0).normal(size=(4, WIDTH)).astype(np.float16).tobytes()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + few)
        file.seek(8 + len(header) + size - len(few))
        file.write(few)


def write(folder: Path, rows: int) -> int:
    model, config = tiny.llama(tied=False)
    model = {
        name: np.resize(values, [WIDTH if n == tiny.D else n for n in values.shape]) for name, values in model.items()
    }
    big = {name: f"{name.split('.')[-2]}.safetensors" for name in ("model.embed_tokens.weight", "lm_head.weight")}
    rest = {name: np.ascontiguousarray(values) for name, values in model.items() if name not in big}
    for name in list(rest):
        # Keys and values are narrower than the rest.
        if "k_proj" in name or "v_proj" in name:
            rest[name] = np.resize(rest[name], (WIDTH * 2 // tiny.H, WIDTH)).astype(np.float32)
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(rest, folder / "rest.safetensors")
    for name, file in big.items():
        write_sparse(folder / file, name, rows)
    index = {**dict.fromkeys(rest, "rest.safetensors"), **big}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "config.json").write_text(json.dumps(config))
    return sum(values.size for values in rest.values()) + 2 * rows * WIDTH


def main(rows: int, megabytes: int, folder: Path) -> None:
    parameters = write(folder / "model", rows)
    # Threads and buffers of BLAS are there before; small products do without the buffers on some processors.
    for side in (WIDTH, 512):
        np.linalg.norm(np.ones((side, side)) @ np.ones((side, side)), 2)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + megabytes * 2**20, resource.RLIM_INFINITY))
    document = inspect(folder / "model")
    assert document["parameters"] == parameters
    assert document["not_recognised"] == []
    on_disk = sum(file.stat().st_size for file in (folder / "model").iterdir())
    sys.stdout.write(json.dumps({"parameters": parameters, "bytes": on_disk, "layers": len(document["layers"])}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
