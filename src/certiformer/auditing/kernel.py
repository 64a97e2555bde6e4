"""The proof kernel: Coq, in a folder of its own, on the packaged library and on text that was written here.

A file from elsewhere is never compiled: it may leave a theorem unproved, or define the words of its statements anew,
and the compiler would not complain.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from certiformer.certificates._refutations import proofs
from certiformer.theory.core.errors import CertiformerError

LIBRARY = ("Holdout", "Check", "Uses", "Statements")
"""In the order in which they need each other."""
LIMITS_REST_ON = (
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
)
"""The axioms of Coq's real numbers, and the only ones on which a certificate may rest."""
REFUTATIONS_REST_ON = (*LIMITS_REST_ON, "ClassicalDedekindReals.sig_not_dec", "Classical_Prop.classic")
"""With roots and logarithms, the standard library uses classical logic too."""
LONGEST = 900
"""Seconds; a certificate with 20,000 errors takes about ten."""
HOW_TO_GET_IT = (
    "coqc, the compiler of the proof assistant Coq, was not found. With root: apt-get install --no-install-recommends "
    "coq. Without: apt-get download coq libcoq-core-ocaml libcoq-stdlib libfindlib-ocaml, then dpkg -x each of the "
    "four into a folder DIR, and set COQLIB=DIR/usr/lib/ocaml/coq COQCORELIB=DIR/usr/lib/ocaml/coq-core "
    "OCAMLPATH=DIR/usr/lib/ocaml and DIR/usr/bin in PATH. See docs/proof-kernel.md"
)


class NoKernel(CertiformerError):
    """There is no compiler on this machine; the message says how to get one."""


class Refused(CertiformerError):
    """The kernel did not accept a proof, or it rests on more than it may."""


@dataclass(frozen=True)
class Checked:
    """A text was accepted: what it rests on beside the kernel, and which compiler said so."""

    axioms: tuple[str, ...]
    compiler: str

    def line(self, conditions: str = "") -> str:
        """In one line: the verdict and what it rests on."""
        rests = [f"the axioms of Coq's reals ({', '.join(self.axioms)})"] if self.axioms else []
        rests += [conditions] if conditions else []
        return f"kernel: checked; rests on: {' and '.join(rests) or 'no axiom'} ({self.compiler})"


def found_coqc() -> str | None:
    """Where the compiler is, if there is one."""
    return shutil.which("coqc")


def library() -> dict[str, str]:
    """The files of the library by name, in the order in which they are compiled."""
    return {name: (proofs() / f"{name}.v").read_text(encoding="utf-8") for name in LIBRARY}


def check_text(text: str, *, needs: Iterable[str] = LIBRARY, allowed: Sequence[str] = LIMITS_REST_ON) -> Checked:
    """Compile the library and `text`, which was written here, and read the axioms that its last line prints."""
    compiler = found_coqc()
    if compiler is None:
        raise NoKernel(HOW_TO_GET_IT)
    sources = library()
    with tempfile.TemporaryDirectory(prefix="certiformer-proof-") as folder:
        for name, content in {**{name: sources[name] for name in needs}, "proof": text}.items():
            printed = _compile(compiler, Path(folder), name, content)
    return Checked(_axioms(printed, allowed), _version(compiler))


def _compile(compiler: str, folder: Path, name: str, content: str) -> str:
    """What the compiler prints about one file; refused if it does not accept it."""
    (folder / f"{name}.v").write_text(content, encoding="utf-8")
    command = [compiler, "-q", "-R", ".", "Certiformer", f"{name}.v"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(f"kernel: NOT checked: {name}.v took longer than {LONGEST} s") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        told = " ".join(lines[:6])
        raise Refused(f"kernel: NOT checked: {told[:600] or f'coqc ended with code {done.returncode}'}")
    return done.stdout


def _environment() -> Mapping[str, str]:
    """Without places from which other files could be loaded."""
    return {name: value for name, value in os.environ.items() if name not in ("COQPATH", "COQBIN", "COQFLAGS")}


def _axioms(printed: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """The names after `Print Assumptions`, all of which must be known; a file that prints none proves nothing."""
    if "Closed under the global context" in printed:
        return ()
    _, found, after = printed.partition("Axioms:")
    if not found:
        raise Refused("kernel: NOT checked: the compiler did not say on which axioms the theorems rest")
    names = re.findall(r"^([A-Za-z_][\w.']*)\s*(?=:|$)", after, flags=re.MULTILINE)
    unknown = [name for name in names if name not in allowed]
    if unknown or not names:
        raise Refused(f"kernel: NOT checked: assumed without proof: {', '.join(unknown) or 'something unnamed'}")
    return tuple(dict.fromkeys(name.rpartition(".")[2] for name in names))


@functools.cache
def _version(compiler: str) -> str:
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    number = re.search(r"version (\S+)", told)
    return f"Coq {number.group(1)}" if number else "Coq"
