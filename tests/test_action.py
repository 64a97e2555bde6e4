"""The script of action.yml as a runner would start it: exit code, output and summary follow the verdict."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subprocesses import python_path

ACTION = (Path(__file__).parents[1] / "action.yml").read_text(encoding="utf-8")
SCRIPT = "\n".join(line.removeprefix("        ") for line in ACTION.partition("      run: |\n")[2].splitlines())


def run(folder, command, **given):
    program = folder / "certiformer" / "bin" / "certiformer"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    said = {"FILE": "results of today.csv", "ERROR": "0.05", "OPTIONS": "", "UNDECIDED": "warn", **given}
    places = {"RUNNER_TEMP": folder, "GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
    environment = {
        **os.environ,
        **said,
        **{name: str(path) for name, path in places.items()},
        "PYTHONPATH": python_path(),
    }
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True
    )
    output = (folder / "output").read_text() if (folder / "output").exists() else ""
    return done, output


@pytest.mark.parametrize(
    ("exits", "given", "code", "verdict"),
    [
        (0, {}, 0, "pass"),
        (0, {"OPTIONS": " \n"}, 0, "pass"),
        (1, {}, 1, "fail"),
        (3, {}, 0, "undecided"),
        (3, {"UNDECIDED": "fail"}, 3, "undecided"),
    ],
)
def test_the_verdict_of_the_action(tmp_path, exits, given, code, verdict):
    done, output = run(tmp_path, f"echo {verdict.upper()}; exit {exits}", **given)
    assert (done.returncode, output) == (code, f"verdict={verdict}\n"), done.stderr
    assert verdict.upper() in done.stdout
    assert verdict.upper() in (tmp_path / "summary").read_text()
    assert ("::warning::" in done.stdout) == (verdict == "undecided" and code == 0)


def test_words_are_handed_on_one_by_one(tmp_path):
    (tmp_path / "results of today.csv").write_text(
        "id,my outcome\n" + "".join(f"q{i},{i % 7 / 100 + 0.9}\n" for i in range(80))
    )
    words = "--metric 'my outcome' --higher-is-better --range 0 1"
    done, output = run(tmp_path, f'exec "{sys.executable}" -m certiformer "$@"', OPTIONS=words, ERROR="0.3")
    assert (done.returncode, output) == (0, "verdict=pass\n"), done.stderr


@pytest.mark.parametrize("given", [{"UNDECIDED": "perhaps"}, {}])
def test_wrong_use_ends_the_job_without_a_verdict(tmp_path, given):
    done, output = run(tmp_path, "echo 'error: why' >&2; exit 2", **given)
    assert (done.returncode, output) == (2, "")
    assert given or "error: why" in (tmp_path / "summary").read_text()


@pytest.mark.parametrize("given", [{"OPTIONS": "--group 'my doc"}, {"OPTIONS": "--help"}, {"FILE": ""}])
def test_nothing_passes_because_nothing_was_asked(tmp_path, given):
    done, output = run(tmp_path, "exit 0", **given)
    assert (done.returncode, output) == (2, "")
    assert "::error::" in done.stdout


def test_a_file_is_no_option(tmp_path):
    done, output = run(tmp_path, f'exec "{sys.executable}" -m certiformer "$@"', FILE="--help")
    assert (done.returncode, output) == (2, "")
    assert "got '--help', expected an existing file" in done.stdout


def test_what_is_handed_over_is_no_program():
    inputs = [line for line in ACTION.splitlines() if "${{ inputs." in line]
    assert inputs
    assert all(line.strip().split(":")[0].isupper() for line in inputs)
