"""A CSV file means the same with pyarrow and without: values, row numbers, messages."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from certiformer.certification.declaration import Declaration
from certiformer.certification.sample import Sample
from certiformer.certification.sources import arrow_files
from certiformer.certification.sources.files import read_csv
from certiformer.theory.core.errors import CertiformerError

CELLS = st.sampled_from(
    [
        "0",
        "1",
        "1",
        "0",
        "",
        " ",
        "nan",
        "NaN",
        "NA",
        "null",
        "<NA>",
        "true",
        "False",
        "right",
        "wrong",
        "C",
        "007",
        "1.0",
        "1e3",
        "-0",
        "99999999999999999999999",
        "inf",
        "é",
        "\ufeff",
        '"',
        '"a"',
        '"a,b"',
        '"a\nb"',
        '""',
        "a\rb",
        "a b",
        "\u2028",
        "\x85",
        "\x0c",
        "\x1c",
        "\x00",
        "'",
        "#",
        "x" * 200,
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n\r\n"])
HEADERS = st.sampled_from(
    [
        ["label", "prediction"],
        ["label", "label"],
        ["score"],
        ["id", "label", "prediction"],
        [" label ", "prediction"],
        ["correct", "group"],
        ["wer"],
        ["label;x", "prediction"],
        [],
        ["", "a"],
    ]
)


@st.composite
def tables(draw):
    header, delimiter = draw(HEADERS), draw(st.sampled_from(",,,;\t"))
    end = draw(ENDS)
    plain = st.sampled_from(["0", "1", "", "nan", "x"]) if draw(st.booleans()) else CELLS
    rows = draw(st.lists(st.lists(plain, min_size=len(header), max_size=len(header)), max_size=12))
    if rows and draw(st.integers(0, 4)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))].append("ragged")
    lines = [delimiter.join(cells) for cells in [header, *rows]]
    ends = [draw(ENDS) if draw(st.integers(0, 9)) == 0 else end for _ in lines]
    text = "".join(line + after for line, after in zip(lines, ends, strict=True))
    data = text.rstrip("\n").encode() if draw(st.booleans()) else text.encode()
    data = b"\xef\xbb\xbf" * draw(st.integers(0, 1)) + data
    return data + b"\xff" * (draw(st.integers(0, 9)) == 0)


def outcome(work):
    try:
        return work()
    except CertiformerError as error:
        return type(error), str(error)


def columns(path):
    found = read_csv(path)
    return [(name, list(cells)) for name, cells in found.columns.items()], found.decisions


def sample(path, **declared):
    found = Sample.of(path, Declaration(**declared))
    losses = [(one.name, one.kind, one.losses.tolist()) for one in found.outcomes]
    return losses, found.hashes, found.decisions, found.not_checked, found.ids


def both(path, monkeypatch, work):
    found = []
    for least in (0, 2**60):
        with monkeypatch.context() as at:
            at.setattr(arrow_files, "WORTH_IT", least)
            found.append(outcome(lambda: work(path)))
    return found


@given(data=tables())
@example(data=b"label,prediction\n1,1\n1,0\n0,0")
@example(data=b"label,prediction\r\n1,1\r\n1,\r\n")
@example(data=b"score\n1\n\n0\n")
@example(data=b"")
@example(data=b"\n")
@example(data=b"label,prediction\n")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_one_meaning(data, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    for work in (columns, sample, lambda path: sample(path, metric=("score",)), lambda path: sample(path, label="id")):
        quick, plain = both(path, monkeypatch, work)
        assert quick == plain


@pytest.mark.parametrize("metric", ["correct", "wer"])
@pytest.mark.parametrize("bad", [None, "", "nan", "many", "right", "1e999", "-3"])
def test_messages_name_the_same_row(metric, bad, tmp_path, monkeypatch):
    rows = [str(row % 2) for row in range(200)]
    if bad is not None:
        rows[137] = rows[151] = bad
    path = tmp_path / "x.csv"
    path.write_text(f"{metric},group\n" + "".join(f"{cell},{row % 50}\n" for row, cell in enumerate(rows)))
    for options in ({}, {"group": "group"}, {"unscored": "wrong"}, {"slices": "group"}, {"range": (0.0, 1.0)}):
        quick, plain = both(path, monkeypatch, lambda path, o=options: sample(path, metric=(metric,), **o))
        assert quick == plain
    if bad == "many":
        assert "Row 138" in quick[1]


LINE = '{"id": "a%d", "label": %d, "prediction": 1, "confidence": 0.%d}'
ODD = (
    '{"id": "a7", "label": 1, "prediction": 1, "confidence": 1}',
    '{"id": "a7", "label": 1.5, "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": 1e0, "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": "1", "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": true, "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": null, "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": 1, "prediction": 1}',
    '{"id": "a7", "label": 1, "label": 0, "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": 1, "prediction": 1, "confidence": 0.5, "more": 1}',
    '{"id": "a7", "label": 1, "prediction": 1, "confidence": NaN}',
    '{"id": "a7", "label": 1, "prediction": 1, "confidence": 1e999}',
    '{"id": "a7", "label": 99999999999999999999, "prediction": 1, "confidence": 0.5}',
    '{"id": "2020-01-01", "label": 1, "prediction": 1, "confidence": 0.5}',
    '{"id": "\\ud800", "label": 1, "prediction": 1, "confidence": 0.5}',
    '{"id": "a7", "label": 1, "prediction": 1, "confidence": 0.5} {"id": "a8"}',
    '{"id": "a7", "label": [1], "prediction": {"a": 1}, "confidence": 0.5}',
    "",
    "[1]",
    "{",
    "\xff",
)


@pytest.mark.parametrize("odd", [None, *ODD])
@pytest.mark.parametrize("place", [0, 3, 9])
def test_lines_of_json_have_one_meaning(odd, place, tmp_path, monkeypatch):
    lines = [LINE % (row, row % 2, row) for row in range(10)]
    if odd is not None:
        lines[place] = odd
    path = tmp_path / "x.jsonl"
    for end in ("\n", "\r\n", ""):
        path.write_bytes((end or "\n").join(lines).encode("latin-1") + end.encode())
        quick, plain = both(path, monkeypatch, sample)
        assert quick == plain
    with monkeypatch.context() as at:
        at.setattr(arrow_files, "WORTH_IT", 0)
        assert odd is not None or arrow_files.fields_of(path) is not None


def test_plain_files_do_go_through_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_files, "WORTH_IT", 0)
    path = tmp_path / "x.csv"
    path.write_text("id,label\n" + "".join(f"{row},{row % 3}\n" for row in range(100)))
    found = read_csv(path).columns
    assert isinstance(found["label"], arrow_files.Coded)
    assert found["id"] == [str(row) for row in range(100)]
    assert found["label"][4] == "1"
    assert found["label"][2:5] == ["2", "0", "1"]
    assert found["label"].row_of(2) == 2
    path.write_text("label\n" + "a" * 200_000 + "\n")
    with pytest.raises(CertiformerError, match="field limit"):
        read_csv(path)
    assert arrow_files.columns_of(path, 1, ",") is None
