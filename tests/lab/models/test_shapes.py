"""Shapes in the types are checked: every `Float[Array, "n d"]` of a package, by jaxtyping's import hook."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subprocesses import python_path

TESTS = Path(__file__).parents[2]


def checked(packages, *files):
    """Run these test files in a process of their own, the packages imported under the hook.

    Tests that give wrong shapes on purpose expect the words of this package, not jaxtyping's; and what Numba compiles
    cannot be wrapped.
    """
    option = f"--jaxtyping-packages={','.join(f'certiformer.lab.{package}' for package in packages)},shapes.checked"
    quiet = ["-q", "--maxfail=5", "-p", "no:cacheprovider", "-k", "not shapes_are_named and not refuse_what"]
    compiled = f"--ignore={TESTS / 'lab' / 'training' / 'test_kernels.py'}"
    command = [sys.executable, "-m", "pytest", *quiet, compiled, option, *map(str, files)]
    environment = {**os.environ, "PYTHONPATH": python_path()}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=TESTS.parent, env=environment)


def test_shapes_of_the_laboratories():
    quick = ("models/test_forward_values.py", "models/wrong_shapes.py")
    loop = f"{TESTS / 'lab' / 'training' / 'test_loop.py'}::test_gradient_descent_matches_numpy"
    done = checked(("models", "training", "measure"), *(TESTS / "lab" / file for file in quick), loop)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.deep
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("room", ["models", "training", "measure"])
def test_shapes_in_all_tests_of_the_laboratories(room):
    done = checked(("models", "training", "measure"), TESTS / "lab" / room)
    assert done.returncode == 0, done.stdout[-3000:]
