"""Mutated files of every format, read in a process of its own: no traceback, no hang, no executed code, no gigabytes.

    python harness.py COUNT SEED FOLDER [FORMAT ...]

What is raised must be an error that the command line prints in one line with exit code 2. Prints one line per failure
(the mutant is kept as FOLDER/failure-FORMAT-NUMBER) and exits with 1 if there was any.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import os
import pickle
import random
import resource
import signal
import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import certiformer
from certiformer.certification import holdout_log
from certiformer.certification.predictors import content_of
from certiformer.certification.predictors.linear_head import QuantisedHead
from certiformer.certification.verify import verify
from certiformer.checkpoints import open_checkpoint
from certiformer.checkpoints.adapters import read_adapter
from certiformer.checkpoints.roles import architecture, assign
from certiformer.lab import models
from certiformer.lab.probing.adapter import AdapterSettings
from certiformer.lab.procedures import recipe
from certiformer.lab.training import checkpoint as training
from certiformer.reproduction.sweep import Experiment, Inline, Ledger, sweep
from certiformer.reproduction.sweep.published_runs import publish, read
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.networks.description import load as load_network
from checkpoints import tiny
from fuzzing import mutators as by

MOST_BYTES, MOST_SECONDS, LONGEST = 500 * 2**20, 10, 2_000
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "exec", "socket.connect")
ROWS = 40


@dataclass(frozen=True)
class Format:
    """`make(folder)` writes a valid file and returns its path; mutants of it are given to `use`."""

    make: Callable[[Path], Path]
    mutate: by.Mutator
    use: Callable[[Path], object]


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def saved(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)
    return path


def outcomes(folder: Path) -> tuple[list[int], list[int]]:
    del folder
    labels = [row % 3 for row in range(ROWS)]
    return labels, [label if row % 9 else (label + 1) % 3 for row, label in enumerate(labels)]


def npz_file(folder: Path) -> Path:
    labels, guesses = outcomes(folder)
    return saved(folder / "x.npz", heldout_labels=labels, heldout_predictions=guesses)


def csv_file(folder: Path) -> Path:
    labels, guesses = outcomes(folder)
    lines = [
        f"{row},{label},{guess},0.{row:02d}" for row, (label, guess) in enumerate(zip(labels, guesses, strict=True))
    ]
    return written(folder / "x.csv", "\n".join(["id,label,prediction,confidence", *lines]))


def jsonl_file(folder: Path) -> Path:
    labels, guesses = outcomes(folder)
    rows = [{"id": row, "label": a, "prediction": b} for row, (a, b) in enumerate(zip(labels, guesses, strict=True))]
    return written(folder / "x.jsonl", "\n".join(map(json.dumps, rows)))


def harness_file(folder: Path) -> Path:
    rows = [
        {"doc_id": row, "doc": {"q": str(row)}, "target": "a", "resps": [["a"]], "filtered_resps": ["a"]}
        | {"doc_hash": f"h{row}", "prompt_hash": "p", "filter": "none", "metrics": ["acc"], "acc": float(row % 7 > 0)}
        for row in range(ROWS)
    ]
    return written(folder / "samples_x.jsonl", "\n".join(map(json.dumps, rows)))


def inspect_log() -> dict[str, object]:
    samples = [
        {
            "id": row,
            "epoch": 1,
            "input": f"q{row}",
            "scores": {"match": {"value": "C" if row % 5 else "I"}},
            "metadata": {},
        }
        for row in range(ROWS)
    ]
    results = {"scores": [{"name": "match", "reducer": "mode", "metrics": {"accuracy": {"value": 0.8}}}]}
    return {"status": "success", "eval": {"task": "t", "config": {"limit": 40}}, "results": results, "samples": samples}


def inspect_file(folder: Path) -> Path:
    return written(folder / "x.json", json.dumps(inspect_log()))


def eval_file(folder: Path) -> Path:
    log = inspect_log()
    with zipfile.ZipFile(folder / "x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({name: log[name] for name in ("status", "eval", "results")}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    return folder / "x.eval"


def parquet_file(folder: Path) -> Path:
    from pyarrow import parquet, table

    labels, guesses = outcomes(folder)
    parquet.write_table(table({"label": labels, "prediction": guesses}), folder / "x.parquet")
    return folder / "x.parquet"


def report_file(folder: Path) -> Path:
    labels, guesses = outcomes(folder)
    data = saved(folder / "data.npz", heldout_labels=labels, heldout_predictions=guesses)
    certiformer.certify(predictions=data).write(folder)
    return folder / "report.json"


def predictor_file(folder: Path) -> Path:
    return written(folder / "x.safetensors", content_of(QuantisedHead(np.arange(4), 12, 0.5, 7)))


EXAMPLES = Path(__file__).parents[2] / "examples"
ADAPTER = (EXAMPLES / "spam_adapter.toml").read_text()
NETWORKS = [path.read_text() for path in sorted((EXAMPLES / "networks").glob("*.toml"))]
RECIPE = """data = "x.npz"
title = "t"
repeats = "refuse"
model = { architecture = "shallow_encoder", seed = 1, d = 4, d_m = 4 }
[[by]]
procedure = "PickToLearn"
steps = 4
rate = 0.005
stages = [8, 12]
augment = { shift = 2 }
estimator = { kind = "sklearn.svm.SVC", C = 100.0, random_state = 0 }
[[by]]
procedure = "CoordinateCover"
network = { modes = 6, patch_modes = 1, positions = 5 }
[[by]]
procedure = "OnePass"
[[by]]
procedure = "HeadPosterior"
seed = 1
[[by]]
procedure = "Occam"
subspace = 4
code = { step = 0.1 }
"""


def network_file(folder: Path) -> Path:
    return written(folder / "x.toml", NETWORKS[0])


def recipe_file(folder: Path) -> Path:
    return written(folder / "x.toml", RECIPE)


def recipe_of(path: Path) -> object:
    found = recipe.read(path)
    model = recipe._model(found.get("model"))
    return model, [recipe._procedure(table, {}, path.parent) for table in found["by"]]


def adapter_file(folder: Path) -> Path:
    return written(folder / "x.toml", ADAPTER)


def rows_with_ids(folder: Path) -> Path:
    return written(folder / "rows.csv", "id,correct\n" + "".join(f"{row},{row % 9 > 0:d}\n" for row in range(ROWS)))


def ledger_of_gates(folder: Path) -> Path:
    certiformer.gate(rows_with_ids(folder), error=0.3, ledger=folder / "x.json")
    return folder / "x.json"


def state_of_gate(folder: Path) -> Path:
    certiformer.gate(rows_with_ids(folder), error=0.3, anytime=folder / "x.json")
    return folder / "x.json"


def model_file(folder: Path) -> Path:
    import jax

    kind, settings = models.model_type("shallow_encoder"), models.config("shallow_encoder", d=4, d_m=4)
    models.save(folder / "x.safetensors", kind.init(jax.random.key(0), settings), {"seed": 1})
    return folder / "x.safetensors"


def training_file(folder: Path) -> Path:
    training.write(folder / "x.safetensors", {"a/b": np.ones(3)}, {"identity": {"n": 3}, "step": 2})
    return folder / "x.safetensors"


def handed_file(folder: Path) -> Path:
    """A report with the classifier that it is about; the classifier is mutated, and the report names its hash."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    saved(folder / "data.npz", heldout_inputs=x[50:], heldout_labels=y[50:])
    kind = DecisionTreeClassifier(random_state=0) if folder.name.endswith("tree") else KNeighborsClassifier()
    model = make_pipeline(StandardScaler(), kind).fit(x[:50], y[:50])
    certiformer.certify(model, heldout=(x[50:], y[50:])).write(folder)
    return next(folder.glob("*.safetensors"))


def verified(path: Path) -> object:
    """A stranger writes the file and its hash."""
    report = path.with_name("report.json")
    text = report.read_text()
    before = json.loads(text)["statements"][0]["predictor"]["sha256"]
    report.write_text(text.replace(before, hashlib.sha256(path.read_bytes()).hexdigest()))
    return verify(report, data=path.with_name("data.npz"))


def config_file(folder: Path) -> Path:
    return tiny.write_folder(folder / "model", *tiny.bert()) / "config.json"


def runs(folder: Path) -> Experiment:
    del folder
    return Experiment("walk", "reproduction.sweep.toy_runs:walk", [{"seed": seed} for seed in range(4)])


def ledger_file(folder: Path) -> Path:
    with Ledger(folder / "x.db") as ledger:
        sweep(runs(folder), ledger, Inline(), progress=False)
    return folder / "x.db"


def published_file(folder: Path) -> Path:
    with Ledger(ledger_file(folder)) as ledger:
        publish(ledger.rows(), folder / "x.runs")
    return folder / "x.runs"


def stream_file(folder: Path) -> Path:
    return written(folder / "stream.txt", "\n".join(str(int(row % 9 == 0)) for row in range(ROWS)))


def watched(path: Path, **options: object) -> object:
    return list(certiformer.watch(path, certified=0.5, every=10, **options))


def state_of_watch(folder: Path) -> Path:
    watched(stream_file(folder), state=folder / "x.json")
    return folder / "x.json"


def described_model(folder: Path) -> Path:
    model_file(folder)
    return written(folder / "x.json", json.dumps({"model": "shallow_encoder", "d": 4, "d_m": 4}))


def adapter_of_base(folder: Path) -> Path:
    base, config = tiny.llama()
    tiny.write_folder(folder / "base", base, config)
    tiny.write_adapter(folder / "lora", ["model.layers.0.self_attn.q_proj"], base)
    return folder / "lora" / "adapter_config.json"


def holdout_archive(folder: Path) -> Path:
    holdout_file(folder)
    return folder / "held" / holdout_log.HOLDOUT


def holdout_file(folder: Path) -> Path:
    labels, guesses = outcomes(folder)
    ledger = holdout_log.Ledger.new(folder / "held", labels)
    ledger, _ = ledger.ask(guesses)
    ledger, _ = ledger.ask(labels)
    ledger.claim()
    return folder / "held" / holdout_log.LOG


def checkpoint(path: Path) -> object:
    found = open_checkpoint(path)
    for tensor in found.tensors.values():
        tensor.array()
        tensor.digest()
    roles = assign(found)
    if roles.family is not None:
        architecture(
            roles,
            {} if path.is_dir() or found.format == "gguf" else {"heads": 4, "activation": "relu", "norm_first": False},
        )
    return found


def ledger_rows(path: Path) -> object:
    with Ledger(path, read_only=True) as ledger:
        return ledger.status(runs(path)), ledger.rows()


def small() -> dict[str, np.ndarray]:
    return {name: values for name, values in tiny.llama()[0].items() if "layers.1" not in name}


def evil_file(folder: Path) -> Path:
    pickled = pickle.dumps({"w": Evil(), "x": [1.5, ("a", b"b")]}, 2)
    return tiny.write_torch(folder / "h.pt", {"x": np.ones((2, 2), np.float32)}, pickled=pickled)


def certified(path: Path) -> object:
    return certiformer.certify(predictions=path)


FORMATS: Mapping[str, Format] = {
    "npz": Format(
        npz_file,
        by.archive(by.npy),
        certified,
    ),
    "npy": Format(
        lambda folder: written(folder / "correct.npy", by.array([row % 9 > 0 for row in range(ROWS)])),
        by.npy,
        certified,
    ),
    "csv": Format(csv_file, by.either(by.cells, by.raw), certified),
    "jsonl": Format(jsonl_file, by.json_lines, certified),
    "lm-eval": Format(harness_file, by.json_lines, certified),
    "inspect json": Format(inspect_file, by.json_text, certified),
    "inspect eval": Format(eval_file, by.archive(by.json_text), certified),
    "parquet": Format(parquet_file, by.either(by.parquet, by.raw), certified),
    "report.json": Format(report_file, by.json_text, verify),
    "predictor": Format(predictor_file, by.either(by.safetensors, by.raw), certiformer.load_predictor),
    "toml": Format(network_file, by.either(by.toml(NETWORKS), by.cells, by.raw), load_network),
    "recipe": Format(recipe_file, by.either(by.toml([RECIPE]), by.cells), recipe_of),
    "adapter settings": Format(adapter_file, by.either(by.toml([ADAPTER]), by.cells), AdapterSettings.of),
    "gate ledger": Format(
        ledger_of_gates, by.json_text, lambda path: certiformer.gate(path.with_name("rows.csv"), error=0.3, ledger=path)
    ),
    "gate state": Format(
        state_of_gate, by.json_text, lambda path: certiformer.gate(path.with_name("rows.csv"), error=0.3, anytime=path)
    ),
    "watch state": Format(state_of_watch, by.json_text, lambda path: watched(path.with_name("stream.txt"), state=path)),
    "watched stream": Format(stream_file, by.either(by.cells, by.raw), watched),
    "trained model": Format(model_file, by.either(by.safetensors, by.raw), models.load),
    "described model": Format(
        described_model, by.json_text, lambda path: models.load_bare(path.with_name("x.safetensors"), path)
    ),
    "training state": Format(training_file, by.either(by.safetensors, by.raw), training.read),
    **{
        f"handed {kind}": Format(handed_file, by.either(by.safetensors, by.raw), verified)
        for kind in ("tree", "neighbours")
    },
    "config.json": Format(config_file, by.json_text, lambda path: checkpoint(path.parent)),
    "sweep ledger": Format(ledger_file, by.database, ledger_rows),
    "published runs": Format(published_file, by.archive(by.json_lines), read),
    "holdout log": Format(holdout_file, by.json_lines, lambda path: holdout_log.replay(path.parent)),
    "holdout archive": Format(holdout_archive, by.archive(by.npy), lambda path: holdout_log.replay(path.parent)),
    "index of shards": Format(
        lambda folder: tiny.write_sharded(folder / "m", *tiny.llama()) / "model.safetensors.index.json",
        by.json_text,
        lambda path: checkpoint(path.parent),
    ),
    "adapter": Format(
        adapter_of_base, by.json_text, lambda path: read_adapter(path.parent, path.parent.parent / "base")
    ),
    "safetensors": Format(
        lambda folder: tiny.write_folder(folder / "a", small(), {}) / "model.safetensors",
        by.either(by.safetensors, by.raw),
        checkpoint,
    ),
    "torch": Format(
        lambda folder: tiny.write_torch(folder / "b.pt", tiny.torch_encoder()[0]),
        by.archive(by.either(by.pickled, by.raw)),
        checkpoint,
    ),
    "torch legacy": Format(
        lambda folder: tiny.write_legacy(folder / "d.bin", tiny.torch_encoder()[0]),
        by.either(by.pickled, by.raw),
        checkpoint,
    ),
    "torch evil": Format(evil_file, by.archive(by.either(by.pickled, by.raw)), checkpoint),
    "gguf": Format(
        lambda folder: tiny.write_gguf(folder / "g.gguf", *tiny.llama()), by.either(by.gguf, by.raw), checkpoint
    ),
    "npz checkpoint": Format(lambda folder: tiny.write_npz(folder / "e.npz", small()), by.archive(by.npy), checkpoint),
    "npz compressed": Format(
        lambda folder: tiny.write_npz(folder / "f.npz", tiny.torch_encoder()[0], compressed=True),
        by.archive(by.npy),
        checkpoint,
    ),
}


def main(count: int, seed: int, folder: Path, names: list[str]) -> int:
    rng = random.Random(seed)
    chosen = {name: FORMATS[name] for name in names or FORMATS}
    targets, originals = {}, {}
    for name, format in chosen.items():
        place = folder / name.replace(" ", "-")
        place.mkdir(parents=True)
        targets[name] = format.make(place)
        originals[name] = targets[name].read_bytes()
        # it is valid (but for one), and what is imported late is there
        with contextlib.suppress(*[CertiformerError] * (name == "torch evil")):
            format.use(targets[name])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, hard))

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        module = event == "exec" and Path(getattr(arguments[0], "co_filename", "")).is_file()  # a late import
        generated = event == "exec" and getattr(arguments[0], "co_filename", "").startswith(
            ("<string>", "<frozen", "<generated")
        )
        if event in FORBIDDEN and not module and not generated:
            os.write(1, f"executed: {event} {arguments!r}"[:200].encode())
            os._exit(1)

    sys.addaudithook(watch)
    warnings.simplefilter("error")  # a warning is a second line
    faulthandler.register(signal.SIGPROF, chain=True)  # says where it hangs, then ends
    failures: list[str] = []
    valid = 0
    for number in range(count):
        name = list(chosen)[number % len(chosen)]
        data = chosen[name].mutate(originals[name], rng)
        targets[name].write_bytes(data)
        problem = ""
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)  # of the processor: a busy machine takes nothing away
        try:
            chosen[name].use(targets[name])
            valid += 1
        except (CertiformerError, OSError) as error:
            if isinstance(error, CertiformerError) and ("\n" in str(error) or len(str(error)) > LONGEST):
                problem = f"a message of {len(str(error))} characters: {str(error)[:300]!r}"
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)
            ours = next((frame for frame in reversed(last) if "certiformer" in frame.filename), last[-1])
            problem = f"{Path(ours.filename).name}:{ours.lineno}: {type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if problem:
            failures.append(problem)
            (folder / f"failure-{name.replace(' ', '-')}-{number}").write_bytes(data)
            sys.stdout.write(f"{name} {number}: {problem}"[:400].replace("\n", " ") + "\n")
    sys.stdout.write(json.dumps({"mutants": count, "still readable": valid, "failures": len(failures)}) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
