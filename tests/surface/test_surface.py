"""The public surface, and what six commands answer, are as recorded: moving code changes neither."""

import json
import math

import pytest

from surface.record import HERE, WALKS, fields, says, surface


@pytest.mark.parametrize("part", ["names", "verbs", "ids"])
def test_names_options_and_ids(part):
    assert json.loads(json.dumps(surface()[part])) == json.loads((HERE / "surface.json").read_text())[part]


@pytest.mark.parametrize("name", WALKS)
def test_what_a_command_answers(name):
    recorded, found = json.loads((HERE / "walks" / f"{name}.json").read_text()), says(WALKS[name])
    assert fields(found) == fields(recorded)
    if name != "reproduce":  # what a run gives is compared with committed values of its own
        same(found, recorded, "")


def same(found, recorded, at):
    if isinstance(recorded, dict):
        for name in recorded:
            if f"{at}.{name}".endswith(".predictor.sha256"):  # what is fitted has other last bits on another processor
                assert len(found[name]) == 64
            else:
                same(found[name], recorded[name], f"{at}.{name}")
    elif isinstance(recorded, list):
        assert len(found) == len(recorded), at
        for place, (one, other) in enumerate(zip(found, recorded, strict=True)):
            same(one, other, f"{at}[{place}]")
    elif isinstance(recorded, float) and isinstance(found, float):
        assert math.isclose(found, recorded, rel_tol=1e-9, abs_tol=1e-12), at
    else:
        assert found == recorded, at
