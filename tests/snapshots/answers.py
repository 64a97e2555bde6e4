"""What a result answers, in a form that outlives changes of form: numbers and names, never the words of hypotheses."""

import contextlib
import io
import json
import sys
from unittest import mock

import certiformer
from certiformer.cli import main
from certiformer.core.errors import CertiformerError

COMMANDS = (
    ["--version"],
    ["theorems", "--json"],
    ["bound", "trauger.lem3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4"],
    ["bound", "trauger.lemma3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4", "--json"],
    ["bound", "trauger.lem3.6"],
    ["bound", "trauger.lem3.6", "Bw=1", "Bx=1", "eps=0", "d=4", "k=4"],
    ["bound", "trauger.lem3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4.5", "k=4"],
    ["bound", "trauger.lem3.6", "Bw=nan", "Bx=1", "eps=0.5", "d=4", "k=4"],
    ["bound", "trauger.lem3.6", "Bw=1", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4"],
    ["bound", "trauger.lem3.6", "Bw", "Bx=1", "eps=0.5", "d=4", "k=4"],
    ["bound", "trauger.lem3.6", "Bq=1", "Bx=1", "eps=0.5", "d=4", "k=4"],
    ["bound", "trauger.lem99"],
    ["bound", "trauger.lem3.6", "Bw=1", "Bx=1", "d=4", "k=4", "--sweep", "eps=0.1:1:3", "--json"],
    ["bound", "trauger.lem3.6", "Bw=1", "Bx=1", "d=4", "k=4", "--sweep", "eps=1"],
    ["explain", "nobody.thm1"],
    ["audit", "nobody.thm1"],
    ["certify", "--predictions", "no-such-file.npz"],
    ["nonsense"],
)


def answer(id, given):
    """Values, logarithms, terms, quantities and the best variant of a result; or the name of the error."""
    try:
        document = certiformer.bound(id, **given).as_json()
    except CertiformerError as error:
        return {"error": type(error).__name__}
    return {
        "bounds": document["bounds"],
        "best": document["best"],
        **{side: {name: _variant(bound) for name, bound in document[side].items()} for side in ("printed", "sound")},
    }


def _variant(bound):
    kept = ("value", "log10", "trivial", "applies", "clipped", "terms", "terms_are", "bounds")
    return {key: _short(bound[key]) for key in kept if key in bound}


def _short(value):
    """Twelve digits: what a change of the order of summation does is no difference."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return float(f"{value:.12g}") if isinstance(value, float) else value


def story(id):
    """What `explain --json` tells."""
    return json.loads(_run(["explain", id, "--json"])[1])


def exit_code(words):
    return _run(words)[0]


def _run(words):
    """Exit code and standard output of a command line, in this process."""
    output, code = io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["certiformer", *words]),
        mock.patch.dict("os.environ", {"NO_COLOR": "1", "TERM": "dumb"}),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return code, output.getvalue()
