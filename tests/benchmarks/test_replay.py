"""What is predicted of sixty days of joins, whose names, columns and times nobody has told."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.replay import DAYS, FAMILIES, Family, Replay

pytestmark = pytest.mark.slow
ROWS = 500


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.title)
def test_most_first_asks_are_predicted(kind: type[Family], seed: int, tmp_path: Path) -> None:
    with Replay(tmp_path / "lake", seed, ROWS) as replay:
        told = replay.family(kind, DAYS)
    assert told.share >= 0.9, told
    assert told.unused <= 0.2, told


def test_hardly_anything_is_computed_ahead_where_nothing_can_be_told(tmp_path: Path) -> None:
    with Replay(tmp_path / "lake", 3, ROWS) as replay:
        assert replay.shuffled(DAYS) <= 0.05
