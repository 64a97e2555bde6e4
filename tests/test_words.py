"""Strangers understand what they read: no phrase of ours, no long line of help, no long headline or cell."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", ["on_pages", "in_help", "in_source", "in_headlines"])
def test_nothing_to_mend(tool, part):
    assert list(getattr(tool, part)()) == []


def test_the_glossary_is_short_and_in_order():
    rows = (ROOT / "docs" / "glossary.md").read_text().splitlines()[4:]
    words = [row.split("|")[1].strip().lower() for row in rows]
    assert len(words) <= 25
    assert words == sorted(words)


def test_what_is_found(tool):
    assert list(tool.private("Nobody vouches;\n one goes on")) != []
    assert list(tool.long_cells("| a | " + "word " * 26 + "|\n")) != []
    assert tool.prose_words("# Two words\n\n| not these |\n\n```\nnor these\n```\n") == 3
    assert tool.words("[one link](somewhere/else.md)") == 2
