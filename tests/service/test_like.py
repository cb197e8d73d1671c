"""Patterns of SQL's LIKE for names: as a regular expression would have them, and never for long."""

from __future__ import annotations

import re
import time

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

import headrace as hr
from headrace.service.flight_sql.like import LikePattern


def by_expression(pattern: str) -> re.Pattern[str]:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    meant = {"%": ".*", "_": "."}
    written = (meant.get(part) or re.escape(part[1:] if len(part) > 1 else part) for part in parts)
    return re.compile("".join(written), re.DOTALL)


@pytest.mark.hypothesis
@given(pattern=st.text("ab%_\\", max_size=8), name=st.text("ab%_\\", max_size=8))
@example("%", "")
@example("a\\%b", "a%b")
@example("%a%b", "ab\n")
@example("\\", "\\")
def test_as_a_regular_expression(pattern: str, name: str) -> None:
    assert LikePattern(pattern).matches(name) == bool(by_expression(pattern).fullmatch(name))


@pytest.mark.parametrize("pattern", ["%" * 200 + "#", "%_" * 100 + "#", "%a" * 300])
def test_in_no_time(pattern: str) -> None:
    start = time.monotonic()
    assert not LikePattern(pattern).matches("a" * 63)
    assert time.monotonic() - start < 5


def test_what_is_longer_than_names_is_refused() -> None:
    with pytest.raises(hr.InvalidArgument, match="longer than any name"):
        LikePattern("%" * 1_001)
