"""Every example of the gallery and every tutorial runs, prints, and becomes a page."""

from pathlib import Path

import pytest

from website.gallery import example_page, examples, tutorials

ROOT = Path(__file__).parents[2]
EXAMPLES = examples(ROOT)


def test_there_are_at_least_eight():
    assert len(EXAMPLES) >= 8
    assert len({example.title for example in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_it_runs(example, tmp_path):
    page = example_page(example, tmp_path / "pictures")
    assert "```text\n" in page
    for picture in (tmp_path / "pictures").iterdir():
        assert "<svg" in picture.read_text()
        assert picture.name in page


TUTORIALS = tutorials(ROOT)


def test_every_notebook_is_a_tutorial():
    assert {tutorial.name for tutorial in TUTORIALS} == {path.stem for path in (ROOT / "docs/tutorials").iterdir()}


@pytest.mark.deep
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda tutorial: tutorial.name)
def test_a_tutorial_runs(tutorial, tmp_path):
    assert "```text\n" in example_page(tutorial, tmp_path / "pictures")
