"""Results with rows of another database: kept for as long as these count as fresh, and no longer."""

from __future__ import annotations

import datetime as dt
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace.cache import period
from headrace.wiring import Service
from service.kept import keeping_service

_HOUR = 3_600_000_000


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour has just begun: else one that ends within a test takes with it what is kept."""
    now = time.clock_gettime_ns
    begun = now(time.CLOCK_BOOTTIME) % (_HOUR * 1_000)
    monkeypatch.setattr(period.time, "clock_gettime_ns", lambda clock: now(clock) - begun)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with keeping_service(tmp_path / "lake") as made:
        yield made


@pytest.fixture
def store(service: Service) -> Iterator[hr.FeatureStore]:
    with hr.connect(service.listening[0]) as opened:
        flights = opened.create_feature_group("flights", primary_key=["id"])
        flights.insert(pa.table({"id": [1, 2], "tailnum": ["N1", "N2"]}))
        yield opened


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "planes.db"
    write(
        path,
        "CREATE TABLE planes (tailnum TEXT, seats INTEGER); INSERT INTO planes VALUES ('N1', 100), ('N2', 200)",
    )
    return path


def write(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()


def planes(
    store: hr.FeatureStore, database: Path, name: str = "planes", **options: object
) -> hr.FeatureGroup:
    told = {"driver": "sqlite", "uri": f"file:{database}", "table": "planes", "primary_key": ["tailnum"]}
    return store.create_external_feature_group(name, **(told | options))


def by_query(store: hr.FeatureStore) -> hr.Result:
    flights, planes = store.get_feature_group("flights"), store.get_feature_group("planes")
    return flights.select("id").join(planes.select("seats"), on="tailnum").read()


def by_sql(store: hr.FeatureStore) -> hr.Result:
    return store.sql("SELECT f.id, p.seats FROM flights f JOIN planes p ON p.tailnum = f.tailnum")


def seats(result: hr.Result) -> list[int]:
    found: list[int] = result.to_arrow().sort_by("id")["seats"].to_pylist()
    return found


def kept(store: hr.FeatureStore, results: int) -> None:
    """Wait for it: a result is kept a moment after its last row."""
    deadline = time.monotonic() + 30
    while store.cache.stats().results != results:
        assert time.monotonic() < deadline, store.cache.stats()


@pytest.mark.parametrize("ask", [by_query, by_sql])
class TestAsked:
    def test_what_is_fresh_is_given_again(self, store, database, ask: Callable[..., hr.Result]):
        assert planes(store, database, freshness="1h").freshness == dt.timedelta(hours=1)
        assert seats(ask(store)) == [100, 200]
        kept(store, 1)
        write(database, "UPDATE planes SET seats = 0")
        assert seats(ask(store)) == [100, 200]
        assert store.cache.stats().hits == 1

    def test_what_is_not_is_read_anew(self, store, database, monkeypatch, ask: Callable[..., hr.Result]):
        planes(store, database, freshness="1h")
        assert seats(ask(store)) == [100, 200]
        kept(store, 1)
        write(database, "UPDATE planes SET seats = 0")
        now = time.clock_gettime_ns
        monkeypatch.setattr(period.time, "clock_gettime_ns", lambda clock: now(clock) + _HOUR * 1_000)
        assert seats(ask(store)) == [0, 0]

    def test_without_a_freshness_nothing_is_kept(self, store, database, ask: Callable[..., hr.Result]):
        assert planes(store, database).freshness is None
        assert seats(ask(store)) == [100, 200]
        write(database, "UPDATE planes SET seats = 0")
        assert seats(ask(store)) == [0, 0]
        assert (store.cache.stats().results, store.cache.stats().hits) == (0, 0)

    def test_a_commit_to_the_other_table_is_another_question(
        self, store, database, ask: Callable[..., hr.Result]
    ):
        planes(store, database, freshness="1h")
        assert seats(ask(store)) == [100, 200]
        kept(store, 1)
        store.get_feature_group("flights").insert(pa.table({"id": [3], "tailnum": ["N2"]}))
        assert seats(ask(store)) == [100, 200, 200]

    def test_another_type_is_another_question(self, store, database, ask: Callable[..., hr.Result]):
        planes(store, database, freshness="1h")
        assert seats(ask(store)) == [100, 200]
        kept(store, 1)
        write(
            database,
            "DROP TABLE planes; CREATE TABLE planes (tailnum TEXT, seats TEXT);"
            "INSERT INTO planes VALUES ('N1', 'many'), ('N2', 'few')",
        )
        assert seats(ask(store)) == ["many", "few"]


def test_groups_of_one_name_are_told_apart(store, database, tmp_path):
    planes(store, database, freshness="1h")
    assert seats(by_query(store)) == [100, 200]
    kept(store, 1)
    store.delete_feature_group("planes", 1)
    other = tmp_path / "other.db"
    write(
        other,
        "CREATE TABLE planes (tailnum TEXT, seats INTEGER); INSERT INTO planes VALUES ('N1', 7), ('N2', 8)",
    )
    planes(store, other, freshness="1h")
    assert seats(by_query(store)) == [7, 8]


def test_nothing_of_it_is_computed_ahead(service, store, database):
    planes(store, database, freshness="1h")
    by_query(store).to_arrow()
    by_sql(store).to_arrow()
    query = "SELECT tailnum, count(*) AS n FROM flights GROUP BY tailnum"
    store.sql(query).to_arrow()
    asked = service._store.cache.asked
    asked.flush()
    written, _ = asked._history.since(0)
    assert [ask.request.sql for _, ask in written] == [query]


def test_explain_says_why(store, database):
    planes(store, database)
    flights, other = store.get_feature_group("flights"), store.get_feature_group("planes")
    told = flights.select("id").join(other.select("seats"), on="tailnum").explain()
    assert "planes@v1 is of another database, which may change at any time, and has no freshness=" in told


@pytest.mark.parametrize("freshness", ["0s", "soon", "-1s", dt.timedelta(0)])
def test_refused(store, database, freshness):
    with pytest.raises(hr.InvalidArgument, match="freshness"):
        planes(store, database, freshness=freshness)


class TestPeriod:
    def test_is_one_for_so_long(self, monkeypatch):
        now = 0
        monkeypatch.setattr(period.time, "clock_gettime_ns", lambda clock: now)
        first = period.period(_HOUR)
        assert first.ends == 3_600
        now = _HOUR * 1_000 - 1
        assert period.period(_HOUR) == first
        now += 1
        assert period.period(_HOUR) != first

    def test_knows_no_wall_clock(self, monkeypatch):
        monkeypatch.setattr(period.time, "time", lambda: 0.0)
        first = period.period(_HOUR * 24 * 365)
        monkeypatch.setattr(period.time, "time", lambda: 1e10)
        assert period.period(_HOUR * 24 * 365) == first


class TestPreparedBefore:
    """A read that was prepared while its result was kept, and is run when that is not given any more."""

    def test_rows_that_are_past_are_not_given(self, store, database, monkeypatch):
        planes(store, database, freshness="1h")
        for ask in (by_query, by_sql):
            ask(store).to_arrow()
        kept(store, 2)
        waiting = [ask(store) for ask in (by_query, by_sql)]
        write(database, "UPDATE planes SET seats = 0")
        now = time.clock_gettime_ns
        monkeypatch.setattr(period.time, "clock_gettime_ns", lambda clock: now(clock) + _HOUR * 1_000)
        assert [seats(result) for result in waiting] == [[0, 0], [0, 0]]

    def test_what_is_past_is_let_go_of(self, service, store, database, monkeypatch):
        planes(store, database, freshness="1h")
        by_query(store).to_arrow()
        kept(store, 1)
        now = time.clock_gettime_ns
        monkeypatch.setattr(period.time, "clock_gettime_ns", lambda clock: now(clock) + _HOUR * 1_000)
        assert store.cache.list() == []
        assert list(service._store.cache.results.folder.glob("*.arrow")) == []


def test_what_a_reference_leads_to_now(store, database, tmp_path, monkeypatch):
    """The service of this process looks the variable up; another may have it otherwise."""
    monkeypatch.setenv("PLANES_DB", str(database))
    planes(store, database, uri="env:PLANES_DB", freshness="1h")
    assert seats(by_query(store)) == [100, 200]
    kept(store, 1)
    other = tmp_path / "other.db"
    write(
        other,
        "CREATE TABLE planes (tailnum TEXT, seats INTEGER); INSERT INTO planes VALUES ('N1', 7), ('N2', 8)",
    )
    monkeypatch.setenv("PLANES_DB", str(other))
    assert seats(by_query(store)) == [7, 8]
    assert seats(by_sql(store)) == [7, 8]
