"""Instants that are read as the clock of this process shows them."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from headrace import rowcodec

ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Monrovia"]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def read(micros: list[int]) -> list[dt.datetime]:
    field = pa.field("_1", pa.timestamp("us", "UTC"), metadata={"headrace.py": "local"})
    schema = pa.schema([field], metadata={"headrace.rows": "1", "headrace.py": "value"})
    [found] = [rowcodec.from_batch(pa.record_batch([pa.array(micros, field.type)], schema=schema))]
    return found


@pytest.mark.slow
def test_they_are_those_of_fromtimestamp(zone: str) -> None:
    random.seed(zone)
    begin, end = -62_135_500_000, 253_402_200_000
    micros = [random.randrange(begin, end) * 1_000_000 + random.randrange(1_000_000) for _ in range(2000)]
    micros += [-1, 0, 1, -999_999, 1_000_000]
    # Two days in each year of our time, by quarters of hours: the clock is put forward, and back, in some of them.
    for year in range(1970, 2040, 3):
        for month, day in ((3, 9), (4, 6), (10, 26), (11, 2)):
            noon = int(dt.datetime(year, month, day, tzinfo=dt.UTC).timestamp())
            micros += [(noon + minutes * 900) * 1_000_000 + 7 for minutes in range(96)]
    found = read(micros)
    for instant, local in zip(micros, found, strict=True):
        expected = dt.datetime.fromtimestamp(instant // 1_000_000).replace(microsecond=instant % 1_000_000)
        assert (local, local.fold, local.tzinfo) == (expected, expected.fold, None), instant
    if zone != "Asia/Kolkata" and zone != "UTC" and zone != "Africa/Monrovia":
        assert any(local.fold for local in found)
