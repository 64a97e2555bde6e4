"""Mutated checkpoints, read in a process of its own: no crash, no hang, no executed code, no gigabytes.

    python fuzz.py COUNT SEED FOLDER

Prints one line per failure and exits with 1 if there was any.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import resource
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from certiformer.checkpoints import open_checkpoint
from certiformer.checkpoints.roles import architecture, assign
from certiformer.core.errors import CertiformerError
from checkpoints import tiny

GIGABYTE = 2**30
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "exec", "socket.connect")


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


def seeds(folder: Path) -> list[Path]:
    """Small valid files of every format, and a malicious one."""
    model = tiny.llama()
    small = {name: values for name, values in model[0].items() if "layers.1" not in name}
    encoder = tiny.torch_encoder()[0]
    files = [
        tiny.write_folder(folder / "a", small, {}) / "model.safetensors",
        tiny.write_torch(folder / "b.pt", encoder),
        tiny.write_torch(folder / "c.ckpt", small, wrap=True),
        tiny.write_legacy(folder / "d.bin", encoder),
        tiny.write_npz(folder / "e.npz", small),
        tiny.write_npz(folder / "f.npz", encoder, compressed=True),
        tiny.write_gguf(folder / "g.gguf", *model),
    ]
    evil = pickle.dumps({"w": Evil(), "x": [1.5, ("a", b"b")]}, 2)
    files.append(tiny.write_torch(folder / "h.pt", {"x": np.ones((2, 2), np.float32)}, pickled=evil))
    return files


def mutate(data: bytes, rng: random.Random) -> bytes:
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


def main(count: int, seed: int, folder: Path) -> int:
    rng = random.Random(seed)
    originals = [path.read_bytes() for path in seeds(folder)]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + GIGABYTE, hard))

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        module = event == "exec" and Path(getattr(arguments[0], "co_filename", "")).is_file()  # a late import
        if event in FORBIDDEN and not module:
            os.write(1, f"executed: {event} {arguments!r}"[:200].encode())
            os._exit(1)

    sys.addaudithook(watch)
    target, failures, read = folder / "mutant", 0, 0
    for number in range(count):
        data = mutate(originals[number % len(originals)], rng)
        target.write_bytes(data)
        signal.alarm(20)
        try:
            found = open_checkpoint(target)
            read += 1
            for tensor in found.tensors.values():
                tensor.array()
                tensor.digest()
            roles = assign(found)
            if roles.family is not None:
                architecture(roles, {"heads": 4, "activation": "relu", "norm_first": False})
        except CertiformerError as error:
            if "\n" in str(error) or len(str(error)) > 800:
                failures += 1
                sys.stdout.write(f"mutant {number}: a long message: {str(error)[:100]!r}" + "\n")
        except Exception as error:
            failures += 1
            (folder / f"failure-{number}").write_bytes(data)
            sys.stdout.write(f"mutant {number}: {type(error).__name__}: {error}"[:300] + "\n")
        finally:
            signal.alarm(0)
    sys.stdout.write(json.dumps({"mutants": count, "still readable": read, "failures": failures}) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
