"""Records that are replaced quickly: only fields, and nothing remembered of the old ones."""

import dataclasses
import functools

import pytest

from certiformer.theory.calculus.covers import Cover
from certiformer.theory.core import Bound
from certiformer.theory.core.records import fast_replace


def test_a_changed_record_is_what_replace_gives():
    cover = Cover("w", 1.0, lambda x: 2.0 * x)
    assert fast_replace(cover, ln_radius=0.5, name="v") == dataclasses.replace(cover, ln_radius=0.5, name="v")
    assert cover.ln_radius == 1.0


def test_a_name_that_is_no_field_is_refused():
    with pytest.raises(TypeError, match="no field radius"):
        fast_replace(Cover("w", 1.0, lambda x: 2.0 * x), radius=0.5)


@pytest.mark.parametrize("record", [Bound, Cover])
def test_such_records_remember_nothing(record):
    assert not [name for name in dir(record) if isinstance(getattr(record, name), functools.cached_property)]
