"""The command line: one thin module per verb. Mistakes of the user end in one clear line and exit code 2."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.core

from certiformer._version import __version__
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.report import visible

VERBS = (
    "demo", "theorems", "search", "explain", "bound", "check", "compare", "compose", "inspect", "train", "certify",
    "probe", "verify", "look", "gate", "holdout", "plan", "watch", "select", "audit", "reproduce",
)  # fmt: skip
"""In the order of the help; each is a module of this package with a function of its name, or a group `app`."""

EXTRAS = {
    "jax": "train", "jaxlib": "train", "equinox": "train", "optax": "train", "jaxtyping": "train", "numba": "fast",
    "dask": "cluster", "distributed": "cluster", "dask_jobqueue": "cluster", "tokenizers": "text",
    "pyarrow": "files", "zstandard": "files",
}  # fmt: skip
"""The extra that brings an optional package."""

MOVED = {
    "certify": {
        "--allow-twins": "--repeats natural", "--score": "--metric NAME", "--retrain": "certiformer demo --retrain",
    },
    "compare": {"--score": "--metric NAME"},
    "select": {"--confidence": "--confidence-column COLUMN; --confidence is a number, 1 - delta"},
    "theorems": {"--STATUS": "--status"},
    "watch": {"--correct": "--higher-is-better"},
    "reproduce": {
        "adopt": "certiformer reproduce upgrade FILE",
        "--engine": "--scheduler ADDRESS or --slurm for Dask; otherwise this machine does the work",
    },
}  # fmt: skip
"""What 0.1.0 had, by verb, and what to say instead."""


class _Command(typer.core.TyperCommand):
    """A command whose option `--proof` may do without its value, and whose options have one value each, said once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if any(one.name == "proof" and not getattr(one, "is_flag", False) for one in self.params):
            args = ["--proof=limits" if word == "--proof" else word for word in args]
        said = self.make_parser(ctx).parse_args(args=list(args))[2]
        for one in said:
            once = isinstance(one, typer.core.TyperOption) and not one.multiple and not one.is_flag
            if once and said.count(one) > 1:
                raise InputError(one.opts[0], f"{said.count(one)} values", "one value", "Only one of them can be meant")
        return super().parse_args(ctx, args)


def application(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """The command line with these verbs: only their modules are imported."""
    app = typer.Typer(
        name="certiformer",
        help="Error limits for your model, and checked generalization bounds for Transformers.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for verb in verbs:
        module = importlib.import_module(f"certiformer.cli.{verb}")
        found = vars(module).get("app") or getattr(module, verb)
        if isinstance(found, typer.Typer):
            for one in found.registered_commands:
                one.cls = _Command
            app.add_typer(found, name=verb)
        else:
            app.command(cls=_Command)(found)
    return app


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"certiformer {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; an error that is the user's to mend is one line on stderr and exit code 2."""
    # ends like any other error: what was begun is cleaned up, and workers end with us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Unicode gets \u2264, not a traceback
            stream.reconfigure(errors="backslashreplace")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it keeps its fonts is nobody's concern
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    try:
        asked = sys.argv[1] if len(sys.argv) > 1 else ""
        for word, following in zip(sys.argv[2:], [*sys.argv[3:], ""], strict=False):
            name, _, value = word.partition("=")
            new = MOVED.get(asked, {}).get(name)
            # select had --confidence COLUMN; now it is a number, as for every verb
            if new and not (name == "--confidence" and (value or following)[:1] in set("0123456789.")):
                _fail(f"{word} is gone since 0.2.0. Instead: {new}")
        application((asked,) if asked in VERBS else () if asked == "--version" else VERBS)()
        sys.stdout.flush()
    except CertiformerError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        _fail(f"this needs {error.name}, which the extra [{extra}] installs: pip install 'certiformer[{extra}]'")
    except BrokenPipeError:
        _reader_has_gone()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # typer ends with 1 then, the verdict of a gate
            _reader_has_gone()
        if isinstance(end.__context__, KeyboardInterrupt):  # typer says nothing
            _leave(130, "stopped")
        raise
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except MemoryError as error:
        _fail(f"the memory does not suffice ({str(error) or 'no more is given'}). Give fewer rows, columns or tensors")
    except KeyboardInterrupt:
        _leave(130, "stopped")
    except Exception:
        _leave(70, traceback.format_exc())  # a defect of ours: 1 would be the verdict of a gate


def _fail(message: str) -> None:
    # Names from files stand in it: control characters are made visible.
    _leave(2, typer.style(f"error: {visible(message)}", fg=typer.colors.RED))


def _leave(code: int, said: str) -> None:
    """End with this code, also where nobody reads what is said."""
    with contextlib.suppress(OSError):
        typer.echo(said, err=True)
    sys.exit(code)


def _reader_has_gone() -> None:
    """Nothing is left to say to whoever read our output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)
