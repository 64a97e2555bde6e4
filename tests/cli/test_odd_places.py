"""Commands that are stopped, crowded, or run where little is allowed: they end, and leave whole files or none."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import certiformer
from certiformer.certification import holdout_log
from certiformer.cli import main
from subprocesses import python_path

FILES = ("report.html", "report.json", "model-card.md", "badge.svg")
RECIPE = """data = "t.npz"
[[by]]
procedure = "PickToLearn"
estimator = { kind = "sklearn.svm.SVC", C = 100.0, random_state = 0 }
"""


def environment(**more):
    return {**os.environ, "PYTHONPATH": python_path(), "OMP_NUM_THREADS": "1", **more}


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "certiformer", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        **{"env": environment(), **options},
    )


def predictions(path, wrong=3):
    np.savez(path, heldout_correct=np.arange(100) >= wrong)
    return path


def until(done, process):
    last = time.monotonic() + 120
    while not done():
        assert process.poll() is None
        assert time.monotonic() < last
        time.sleep(0.02)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("certify", "x.npz", "--out", "o"), "certiformer.certification.pipeline"),
        (("compare", "x.npz", "y.npz"), "certiformer.evaluation.pairs"),
        *(
            pytest.param(words, module, marks=pytest.mark.deep)
            for words, module in (
                (("gate", "x.npz", "--error", "0.3"), "certiformer.certification.sources.files"),
                (("verify", "r/report.json", "--data", "x.npz"), "certiformer.certification.sources.files"),
                (("inspect", "m.npz"), "certiformer.checkpoints.inspection"),
                (("demo", "--out", "o"), "certiformer.certification.api"),
                (("audit", "trauger.lem3.6"), "certiformer.auditing.runner"),
                (("plan", "--error", "0.3"), "certiformer.evaluation.planning"),
                (("select", "c.csv", "--error", "0.3"), "certiformer.certification.selecting"),
                (("watch", "w.txt"), "certiformer.certification.watching"),
                (("holdout", "new", "h", "--data", "l.npz"), "certiformer.certification.holdout_log"),
                (("holdout", "ask", "held", "--predictions", "p.npz"), "certiformer.theory.calculus.ladder"),
                (("certify", "--fit", "recipe.toml", "--out", "o"), "certiformer.lab.procedures._picking"),
                (
                    ("verify", "picked/report.json", "--data", "t.npz", "--replay"),
                    "certiformer.lab.procedures._picking",
                ),
                (("gate", "i.csv", "--error", "0.3", "--anytime", "s.json"), "certiformer.certification.gate_files"),
                (("look", "x.npz"), "certiformer.certification.looking"),
                (("bound", "trauger.thm4.1", "--sweep", "n=10:1e6:100"), "certiformer.theory.calculus.covers"),
                (("compose", "bert"), "certiformer.theory.networks.network"),
                (("check", "trauger.lem3.6"), "certiformer.auditing.completeness"),
                (("train", "--preset", "mwigo", "--out", "m.safetensors"), "certiformer.lab.training.fitting"),
                (
                    ("reproduce", "li.misspecified", "--scale", "smoke", "--out", "o"),
                    "certiformer.reproduction.reproduce",
                ),
                (("probe", "m", "--texts", "c.csv", "--out", "o"), "certiformer.lab.probing.probe"),
            )
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_stopped_command_ends_and_leaves_nothing_half_written(words, module, ending, tmp_path):
    """Every verb, stopped in the middle of its work: here at the first call inside its own module."""
    predictions(tmp_path / "x.npz")
    predictions(tmp_path / "y.npz", 5)
    np.savez(tmp_path / "m.npz", weight=np.ones((3, 3)))
    np.savez(tmp_path / "l.npz", heldout_labels=np.arange(100) % 3)
    np.savez(tmp_path / "p.npz", heldout_predictions=np.arange(100) % 3)
    holdout_log.Ledger.new(tmp_path / "held", np.arange(100) % 3)
    rng, labels = np.random.default_rng(3), np.arange(60) % 3
    np.savez(tmp_path / "t.npz", train_inputs=np.eye(3)[labels] + rng.normal(0, 0.1, (60, 3)), train_labels=labels)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    if "--replay" in words:
        assert command("certify", "--fit", "recipe.toml", "--out", "picked", cwd=tmp_path).returncode == 0
    (tmp_path / "i.csv").write_text("id,correct\n" + "".join(f"{row},{row % 9 > 0:d}\n" for row in range(100)))
    (tmp_path / "c.csv").write_text("correct,confidence\n" + "1,0.9\n0,0.1\n" * 50)
    (tmp_path / "w.txt").write_text("0\n" * 200)
    certiformer.certify(predictions=tmp_path / "x.npz").write(tmp_path / "r")
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    program = f"""
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background inherits that it is ignored
def look(frame, event, argument):
    if event == "call" and frame.f_globals.get("__name__") == {module!r} and frame.f_code.co_name != "<module>":
        sys.setprofile(None)
        open("reached", "w").close()
        time.sleep(60)
sys.setprofile(look)
from certiformer.__main__ import main
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until((tmp_path / "reached").exists, process)
        process.send_signal(ending)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + ending, said
    assert "Traceback" not in said
    assert {path for path in tmp_path.rglob("*") if path.is_file()} - before == {tmp_path / "reached"}


@pytest.mark.deep
def test_five_processes_with_one_folder_leave_a_whole_set(tmp_path):
    alone = []
    for wrong in range(5):
        predictions(tmp_path / f"{wrong}.npz", 3 + 9 * wrong)
        certiformer.certify(predictions=tmp_path / f"{wrong}.npz").write(tmp_path / str(wrong))
        alone.append([(tmp_path / str(wrong) / name).read_bytes() for name in FILES[2:]])
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "certiformer", "certify", f"{wrong}.npz", "--out", "one"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
        )
        for wrong in range(5)
    ]
    assert [process.wait(120) for process in started] == [0] * 5
    assert [(tmp_path / "one" / name).read_bytes() for name in FILES[2:]] in alone
    said = command("verify", "one/report.json", cwd=tmp_path)
    assert said.returncode in (0, 3), said.stderr  # 3: the data are not at hand


def mounted(script, place, *words, become=(), **options):
    """A command in a mount namespace of its own, after the script: nobody else sees what is mounted there."""
    inside = ["unshare", "--mount", "sh", "-c", f'{script} || exit 99; shift; exec "$@"', "sh", str(place), *become]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    done = subprocess.run(
        [*inside, sys.executable, "-m", "certiformer", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    if done.returncode in (1, 99) and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip("nothing can be mounted here")
    return done


def test_a_full_folder_for_temporary_files(tmp_path):
    predictions(tmp_path / "x.npz")
    full = tmp_path / "full"
    full.mkdir()
    done = mounted(
        'mount -t tmpfs -o size=16k tmpfs "$1" && { head -c 65536 /dev/zero > "$1/all" 2>/dev/null; true; }',
        full, "certify", "x.npz", "--out", "o", cwd=tmp_path, env=environment(TMPDIR=str(full)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "o").iterdir()} >= set(FILES)


def test_a_read_only_installation_and_no_home(tmp_path):
    """Neither compiled code nor fonts can be kept anywhere; so many items are worth compiling for."""
    for name, wrong in (("x", 900), ("y", 2_000)):
        np.savez(tmp_path / f"{name}.npz", heldout_correct=np.arange(30_000) >= wrong)
    source = Path(certiformer.__file__).parent
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && ! touch "$1/x" 2>/dev/null'
    nowhere = environment(HOME="/proc", XDG_CACHE_HOME="/proc", PYTHONPYCACHEPREFIX="")
    for words in (("compare", "x.npz", "y.npz"), ("reproduce", "li.misspecified", "--scale", "smoke", "--out", "o")):
        done = mounted(script, source, *words, cwd=tmp_path, env=nowhere)
        if words[0] == "compare":
            assert done.returncode == 0, done.stderr
        else:  # its ledger has a place at home
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert "--ledger" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "look X.csv", "certify X.jsonl", "gate X.eval --error 0.3", "compare x.npz X.npz",
        "select X.parquet --error 0.3", "certify --fit X.toml", "certify x.npz --out o --proof", "compose X.toml",
        "inspect X.safetensors --no-cache",
        "verify X.json", "gate x.npz --error 0.3 --anytime X.json", "gate x.npz --error 0.3 --ledger X.json",
        "watch w.txt --state X.json", "holdout new h --data X.npz", "audit --recheck X.json",
        "plan --error 0.3 --plot X.svg", "reproduce li.misspecified --from X.runs --out o",
        "train byte_lm --text X.txt", "train shallow_encoder --task mnist --data X.npz --out m.safetensors",
    ],
)  # fmt: skip
def test_a_pipe_or_a_device_is_no_file(words, tmp_path, monkeypatch, capsys):
    """Nobody writes into the pipe: whoever opens it waits for ever. A device would be replaced by what is written."""
    monkeypatch.chdir(tmp_path)
    predictions(tmp_path / "x.npz")
    (tmp_path / "w.txt").write_text("0\n1\n")
    (tmp_path / "o").mkdir()
    pipes = [tmp_path / word for word in words.split() if word.startswith("X.")] or [tmp_path / "o" / "proof.v"]
    for pipe in pipes:
        os.mkfifo(pipe)
    monkeypatch.setattr(sys, "argv", ["certiformer", *words.split()])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr().err
    assert (left.value.code, said.count("\n"), said[:6]) == (2, 1, "error:"), said
    assert all(stat.S_ISFIFO(pipe.stat().st_mode) for pipe in pipes)


@pytest.mark.parametrize("source", ["/dev/zero", "-"])
def test_a_line_without_an_end_is_refused_in_time(source):
    with Path("/dev/zero").open("rb") as endless:
        done = command("watch", source, stdin=endless)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "at most" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "certiformer", "theorems"], stdout=full, stderr=subprocess.PIPE, text=True,
            env=environment(), timeout=60,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [("gate x.npz --error 0.001", 141), ("gate --help", 141), ("gate none.npz --error 0.3", 2)],
)
def test_a_reader_who_has_gone_is_no_verdict(words, code, tmp_path):
    """Exit code 1 would read as FAIL, whatever could not be said."""
    predictions(tmp_path / "x.npz")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "certiformer", *words.split()], cwd=tmp_path, env=environment(), stdout=writing,
            stderr=writing, timeout=120,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.returncode == code


def test_without_docstrings_no_claim_is_made(tmp_path):
    """python -OO removes them, and with them the conditions that a claim rests on."""
    predictions(tmp_path / "x.npz")
    done = command("certify", "x.npz", "--out", "o", cwd=tmp_path, env=environment(PYTHONOPTIMIZE="2"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "conditions" in done.stderr
    assert not (tmp_path / "o").exists()


def test_the_c_locale_changes_no_number(tmp_path):
    predictions(tmp_path / "x.npz")
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    reports = []
    for name, more in (("usual", {"PYTHONUTF8": "1"}), ("c", plain)):
        done = command("certify", "x.npz", "--out", name, "--json", cwd=tmp_path, env=environment(**more))
        assert done.returncode == 0, done.stderr
        reports.append((tmp_path / name / "model-card.md").read_bytes())
    assert reports[0] == reports[1]
    done = command("explain", "trauger.thm4.1", env=environment(**plain))
    assert done.returncode == 0, done.stderr


def opened(folder, places):
    """A script for `mounted`: others reach the places, also in a closed folder (a home, pytest's own).

    In the namespace an open folder covers the closed one, and has in it only what is needed.
    """
    inside = {}
    for place in sorted({str(Path(place).resolve()) for place in places}):
        above = reversed(Path(place).parents)
        closed = next((str(one) for one in above if not one.stat().st_mode & 0o001), None)
        if closed is not None:
            inside.setdefault(closed, []).append(place)
    lines = ["true"]
    for number, (closed, needed) in enumerate(inside.items()):
        cover = folder / f"cover-{number}"
        lines.append(f"mkdir {cover} && mount -t tmpfs -o mode=755 tmpfs {cover}")
        for place in needed:
            there = cover / Path(place).relative_to(closed)
            lines.append(f"mkdir -p {there} && mount --bind {place} {there}")
        lines.append(f"mount --rbind {cover} {closed}")
    return " && ".join(lines)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_without_a_home_beside_a_read_only_installation(tmp_path):
    """Nothing can be kept anywhere: not beside the source, not at home."""
    tmp_path.chmod(0o755)
    predictions(tmp_path / "x.npz")
    out = tmp_path / "out"
    out.mkdir()
    os.chown(out, 65534, 65534)
    alone = environment(HOME="/nonexistent", PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")
    needed = (sys.base_prefix, sys.prefix, *python_path().split(os.pathsep), tmp_path)
    become = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

    def another(name, *words):
        place = tmp_path / name
        place.mkdir()
        return mounted(opened(place, needed), place, *words, become=become, env=alone, cwd="/")

    done = another("first", "certify", tmp_path / "x.npz", "--out", out / "o")
    assert done.returncode == 0, done.stderr
    assert (out / "o" / "report.json").stat().st_uid == 65534
    done = another("second", "certify", tmp_path / "x.npz", "--out", tmp_path / "closed")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_plan_for_any_error_ends():
    for error in (0.3, 0.123456789):
        done = command("plan", "--error", error)
        assert done.returncode == 0, done.stderr


def test_too_little_memory_is_one_line(tmp_path):
    """A limit of the memory, and a column that asks for more: 200,000 cells as wide as one of 600 letters."""
    (tmp_path / "x.csv").write_text("label,prediction\n" + "a" * 600 + ",b\n" + "a,b\n" * 200_000)
    program = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29));"
    done = subprocess.run(
        [sys.executable, "-c", f"{program} from certiformer.cli import main; main()", "certify", "x.csv"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: the memory does not suffice")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_inside_a_callback_is_not_lost(ending):
    """Python ignores what is raised in a callback of a weak reference: the command went on, and ended with 0."""
    program = f"""
import os, signal, sys, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)
import certiformer.cli as cli
from certiformer.__main__ import main

class Watched:
    pass

def work(*_):
    gone = Watched()
    kept = weakref.ref(gone, lambda _: (os.kill(os.getpid(), {int(ending)}), time.sleep(0.01)))
    del gone
    time.sleep(60)

cli.application = lambda *_: work
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, env=environment()
    )
    assert (done.returncode, "Traceback" in done.stderr) == (128 + ending, False), done.stderr


def test_an_interrupt_while_modules_are_imported_is_one_word():
    program = """
import builtins, os, signal, certiformer.__main__ as program
signal.signal(signal.SIGINT, signal.default_int_handler)
real = builtins.__import__
def imported(name, *rest):
    if name == "certiformer.cli":
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest)
builtins.__import__ = imported
program.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment()
    )
    assert (done.returncode, done.stderr) == (130, "stopped\n")
