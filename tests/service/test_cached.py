"""Results of joins that a service keeps: given again, and never where others are right."""

from __future__ import annotations

import datetime as dt
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import msgspec
import pyarrow as pa
import pytest

import headrace as hr
from headrace.client import remote
from headrace.config import store_config
from headrace.engine.kept import Kept
from headrace.service.cached import CachedReads
from headrace.wiring import Service

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ROWS = 2_000


def seen(rows: int, step: int = 1) -> pa.Table:
    """Rows of ten customers, one a minute."""
    at = [START + dt.timedelta(minutes=i) for i in range(rows)]
    return pa.table(
        {
            "who": [i % 10 for i in range(rows)],
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "value": [i * step for i in range(rows)],
            "text": [f"t{i}" for i in range(rows)],
        }
    )


def orders(rows: int) -> pa.Table:
    at = [START + dt.timedelta(minutes=i, seconds=30) for i in range(rows)]
    return pa.table(
        {
            "id": range(rows),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "who": [i * 7 % 10 for i in range(rows)],
            "price": [i / 4 for i in range(rows)],
        }
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    services: list[Service] = []

    def start(cache_bytes: int | None = 100_000_000, concurrency: int | None = None) -> Service:
        config, listen = store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"]
        services.append(Service(config, listen, concurrency=concurrency, cache_bytes=cache_bytes))
        if services[-1]._store.cache is not None:  # also what is computed at once, as these are
            services[-1]._store.cache.least_seconds = 0
        return services[-1]

    yield start
    for service in services:
        service.stop()


@pytest.fixture
def store(serve) -> Iterator[hr.FeatureStore]:
    with hr.connect(serve().listening[0]) as opened:
        fill(opened)
        yield opened


def fill(store: hr.FeatureStore) -> None:
    store.create_feature_group("seen", primary_key=["who"], event_time="at").insert(seen(ROWS))
    store.create_feature_group("orders", primary_key=["id"], event_time="at").insert(orders(ROWS))


def joined(store: hr.FeatureStore) -> hr.Query:
    query = store.get_feature_group("orders").select("id", "price")
    return query.join(store.get_feature_group("seen").select("value", "text"), on="who")


def rows_of(result: hr.Result) -> list[dict[str, object]]:
    found: list[dict[str, object]] = result.to_arrow().sort_by("id").to_pylist()
    return found


def expected(step: int = 1) -> list[dict[str, object]]:
    """By the rule itself: the newest at or before."""
    found = []
    for i in range(ROWS):
        last = max((j for j in range(i + 1) if j % 10 == i * 7 % 10), default=None)
        text = None if last is None else f"t{last}"
        value = None if last is None else last * step
        found.append({"id": i, "price": i / 4, "value": value, "text": text})
    return found


def settled(store: hr.FeatureStore, results: int) -> None:
    """A result is kept a moment after its last row."""
    deadline = dt.datetime.now() + dt.timedelta(seconds=30)
    while store.cache.stats().results != results:
        assert dt.datetime.now() < deadline, store.cache.stats()


def test_what_was_asked_is_given_again(store) -> None:
    assert rows_of(joined(store).read()) == expected()
    settled(store, 1)
    assert rows_of(joined(store).read()) == expected()
    told = store.cache.stats()
    assert (told.hits, told.misses, told.results) == (1, 1, 1)
    (kept,) = store.cache.list()
    assert (kept.groups, kept.rows, kept.hits, kept.ahead) == (("orders@v1", "seen@v1"), ROWS, 1, False)


def test_a_commit_to_any_table_is_another_question(store) -> None:
    joined(store).read().to_arrow()
    settled(store, 1)
    store.get_feature_group("seen").insert(seen(ROWS, step=2))
    assert rows_of(joined(store).read()) == expected(step=2)
    settled(store, 2)
    assert store.cache.stats().misses == 2
    before = store.get_feature_group("orders").history()[0].timestamp
    assert rows_of(joined(store).as_of(timestamp=before).read()) == expected()


def test_names_and_order_do_not_matter(store) -> None:
    joined(store).read().to_arrow()
    settled(store, 1)
    group, other = store.get_feature_group("orders"), store.get_feature_group("seen")
    query = group.select("price", "id").join(other.select("text", "value"), on="who", prefix="was_")
    found = query.read()
    assert found.schema.names == ["price", "id", "was_text", "was_value"]
    assert rows_of(found) == [
        {"price": e["price"], "id": e["id"], "was_text": e["text"], "was_value": e["value"]}
        for e in expected()
    ]
    assert store.cache.stats().hits == 1


@pytest.mark.parametrize("mapped", [True, False])
def test_narrower_questions_are_answered_from_it(store, mapped: bool, monkeypatch) -> None:
    if not mapped:
        monkeypatch.setattr(remote, "mapped_rows", lambda _: None)
    joined(store).read().to_arrow()
    settled(store, 1)
    query = joined(store)
    few = query.filter((query["value"] > 1000) & (query["price"] < 400)).select("id", "text")
    want = [e for e in expected() if e["value"] is not None and e["value"] > 1000 and e["price"] < 400]
    assert rows_of(few.read()) == [{"id": e["id"], "text": e["text"]} for e in want]
    assert len(rows_of(query.select("id", "value").read())) == ROWS
    assert len(rows_of(query.limit(7).read())) == 7
    told = store.cache.stats()
    assert (told.hits, told.misses, told.results) == (3, 1, 1)


def test_wider_questions_are_not(store) -> None:
    query = joined(store)
    query.filter(query["price"] < 100).read().to_arrow()
    settled(store, 1)
    assert rows_of(query.read()) == expected()
    settled(store, 2)
    closer = query.filter(query["price"] < 50)
    assert rows_of(closer.read()) == [e for e in expected() if e["price"] < 50]
    assert store.cache.stats().misses == 2


def test_a_closer_bound_is_narrower(store) -> None:
    view = store.create_feature_view("known", joined(store))
    day = START + dt.timedelta(minutes=500)
    view.training_data(START, START + dt.timedelta(minutes=1000)).to_arrow()
    settled(store, 1)
    # The column of the bound is not among those of the result, so that nothing can be told of its rows.
    assert view.training_data(day, START + dt.timedelta(minutes=1000)).to_arrow().num_rows == 500
    assert store.cache.stats().misses == 2
    settled(store, 2)
    timed = store.create_feature_view(
        "timed",
        store.get_feature_group("orders")
        .select("id", "at")
        .join(store.get_feature_group("seen").select("value"), on="who"),
    )
    timed.training_data(START, START + dt.timedelta(minutes=1000)).to_arrow()
    settled(store, 3)
    assert timed.training_data(day, START + dt.timedelta(minutes=900)).to_arrow().num_rows == 400
    assert store.cache.stats().misses == 3


def test_over_flight_it_is_given_in_parts(store, monkeypatch) -> None:
    monkeypatch.setattr(remote, "mapped_rows", lambda _: None)
    wide = store.create_feature_group("wide", primary_key=["id"], event_time="at")
    wide.insert(orders(60_000))
    query = wide.select("id").join(store.get_feature_group("seen").select("value"), on="who")
    first = query.read().to_arrow().sort_by("id")
    settled(store, 1)
    again = query.read()
    assert len(again._prepared.tickets) > 1
    assert again.to_arrow().sort_by("id").equals(first)
    streamed = pa.Table.from_batches(again.to_reader(), again.schema)
    assert streamed.sort_by("id").equals(first)


def test_a_promised_result_stays_readable_when_it_is_let_go_of(store, monkeypatch) -> None:
    monkeypatch.setattr(remote, "mapped_rows", lambda _: None)
    joined(store).read().to_arrow()
    settled(store, 1)
    promised = joined(store).read()
    reader = promised.to_reader()
    assert store.cache.clear() == 1
    assert sorted(reader.read_all()["id"].to_pylist()) == [*range(ROWS)]
    assert rows_of(promised) == expected()
    assert rows_of(joined(store).read()) == expected()


READS = {
    "to_arrow": lambda result: result.to_arrow().num_rows,
    "to_reader": lambda result: sum(batch.num_rows for batch in result.to_reader()),
}
MANY = 40_000


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_result_that_was_kept_since_it_was_prepared_is_read_for_ever(store, monkeypatch, read) -> None:
    """Its tickets have expired, and the service splits it otherwise by now."""
    store.get_feature_group("orders").insert(orders(MANY))
    result = joined(store).read()
    assert read(result) == MANY
    settled(store, 1)
    assert len(joined(store).read()._prepared.tickets) != len(result._prepared.tickets)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 10_000)
    assert read(result) == MANY


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_kept_result_that_made_room_is_read_as_before(serve, monkeypatch, read) -> None:
    service = serve()
    with hr.connect(service.listening[0]) as store:
        fill(store)
        store.get_feature_group("orders").insert(orders(MANY))
        joined(store).read().to_arrow()
        settled(store, 1)
        monkeypatch.setattr(remote, "mapped_rows", lambda _: None)
        result = joined(store).read()
        assert len(result._prepared.tickets) > 1
        assert store.cache.clear() == 1
        service._store.cache.results._held = Kept(0)
        assert read(result) == MANY


def test_damage_is_noticed_and_computed_anew(serve, tmp_path: Path) -> None:
    service = serve()
    with hr.connect(service.listening[0]) as store:
        fill(store)
        joined(store).read().to_arrow()
        settled(store, 1)
    service.stop()
    (file,) = (tmp_path / "lake" / ".headrace" / "results").glob("*.arrow")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    bytes_ = bytearray(file.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    file.write_bytes(bytes_)
    with hr.connect(serve().listening[0]) as store:
        assert rows_of(joined(store).read()) == expected()
        assert store.cache.stats().damaged == 1
        settled(store, 1)
        assert rows_of(joined(store).read()) == expected()


def test_what_is_kept_outlives_the_service(serve) -> None:
    service = serve()
    with hr.connect(service.listening[0]) as store:
        fill(store)
        joined(store).read().to_arrow()
        settled(store, 1)
    service.stop()
    with hr.connect(serve().listening[0]) as store:
        assert rows_of(joined(store).read()) == expected()
        assert store.cache.stats().hits == 1


def test_equal_questions_at_once_are_computed_once(store) -> None:
    found: list[pa.Table] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(joined(store).read().to_arrow())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(table.sort_by("id").to_pylist() == expected() for table in found)
    assert store.cache.stats().misses == 1


def test_whole_numbers_that_a_column_rounds(store) -> None:
    """A kept `x > 2**24` lacks what `x >= 2**24 + 1` keeps, of numbers with 24 bits."""
    group = store.create_feature_group("floats", primary_key=["id"])
    numbers = pa.array([2.0**24, 2.0**24 + 2, 0.0], pa.float32())
    group.insert(pa.table({"id": [1, 2, 3], "who": [1, 2, 3], "x": numbers}))
    other = store.create_feature_group("names", primary_key=["who"])
    other.insert(pa.table({"who": [1, 2, 3], "name": ["a", "b", "c"]}))
    query = group.select("id", "x").join(other.select("name"), on="who")
    assert len(rows_of(query.filter(query["x"] > 2**24).read())) == 1
    settled(store, 1)
    assert len(rows_of(query.filter(query["x"] >= 2**24 + 1).read())) == 2
    assert len(rows_of(query.filter(query["x"] > 5).read())) == 2
    settled(store, 3)
    assert len(rows_of(query.filter(query["x"] > 2**20).read())) == 2
    assert store.cache.stats().misses == 3


def test_a_computation_that_fails_fails_all_who_wait_for_it(store) -> None:
    group = store.create_feature_group("twice", primary_key=["who"], event_time="at")
    rows = seen(40).set_column(1, "at", pa.array([START] * 40, pa.timestamp("us", "UTC")))
    group.insert(rows, mode="append")
    query = store.get_feature_group("orders").select("id").join(group.select("value"), on="who")
    failures: list[type[BaseException]] = []

    def ask() -> None:
        try:
            query.read().to_arrow()
        except hr.HeadraceError as error:
            failures.append(type(error))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == [hr.AmbiguousRows] * 6
    assert store.queries.list() == []


def test_who_waits_for_one_that_cannot_be_kept_is_told(store, monkeypatch) -> None:
    query = store.get_feature_group("orders").select("id").join(store.get_feature_group("seen"), on="who")

    def failing(*_: object) -> NoReturn:
        raise hr.Unavailable("the registry is away")

    with monkeypatch.context() as away:
        away.setattr(CachedReads, "keeping", failing)
        with pytest.raises(hr.Unavailable):
            query.read().to_arrow()
    found: list[int] = []
    asking = threading.Thread(target=lambda: found.append(query.read().to_arrow().num_rows), daemon=True)
    asking.start()
    asking.join(30)
    assert len(found) == 1


def test_it_is_found_however_the_log_was_read(serve) -> None:
    """One service has followed the table, another one reads it anew."""
    service = serve()
    with hr.connect(service.listening[0]) as store:
        fill(store)
        group = store.get_feature_group("orders")
        for number in range(3):
            group.insert(orders(ROWS + number + 1).slice(ROWS + number), mode="append")
            joined(store).read().to_arrow()
        settled(store, 3)
    service.stop()
    with hr.connect(serve().listening[0]) as store:
        assert len(rows_of(joined(store).read())) == ROWS + 3
        assert store.cache.stats().misses == 3


def test_rights_come_first(serve) -> None:
    service = serve()
    with hr.connect(service.listening[0]) as store:
        fill(store)
        joined(store).read().to_arrow()
        settled(store, 1)
        request = joined(store).read()._prepared.request
        store.grants.add("anna", "reader", group="orders")
        store.grants.add("anna", "reader", group="seen", columns=["value"])
    asked = msgspec.structs.replace(request, now=None, locations={}, schemas={})
    with pytest.raises(hr.UnknownColumn):
        service._store.project("default", "anna").prepare(asked)
    with hr.connect(service.listening[0]) as store:
        store.grants.add("anna", "reader", group="seen")
    anna = service._store.project("default", "anna")
    prepared = anna.prepare(asked)
    assert prepared.kept is not None
    with hr.connect(service.listening[0]) as store:
        store.grants.remove("anna", group="seen")
    with pytest.raises(hr.NotFound):
        service._store.project("default", "anna").run(prepared, None)
    with pytest.raises(hr.PermissionDenied):
        service._store.project("default", "anna").list_results()


@pytest.mark.parametrize("cached", [True, False])
def test_a_column_that_was_taken_away_is_not_given_in_sql(serve, cached: bool) -> None:
    service = serve() if cached else serve(None)
    with hr.connect(service.listening[0]) as store:
        fill(store)
        store.grants.add("dora", "reader", group="orders")
        store.grants.add("dora", "reader", group="seen")
        query = "SELECT o.id, s.text FROM orders o JOIN seen s ON o.who = s.who"
        asked = store.sql(query)._prepared.request
        if cached:
            store.sql(query).to_arrow()
            settled(store, 1)
        asked = msgspec.structs.replace(asked, now=None, tables={})
        prepared = service._store.project("default", "dora").prepare(asked)
        assert (prepared.kept is not None) == cached
        store.grants.add("dora", "reader", group="seen", columns=["value"])
        with pytest.raises(hr.SqlRejected, match="text"):
            service._store.project("default", "dora").run(prepared, None).table()
        with pytest.raises(hr.SqlRejected, match="text"):
            service._store.project("default", "dora").prepare(asked)


def test_a_table_made_again_under_its_name_is_another(store) -> None:
    joined(store).read().to_arrow()
    settled(store, 1)
    store.delete_feature_group("seen", 1)
    store.create_feature_group("seen", version=1, primary_key=["who"], event_time="at").insert(
        seen(ROWS, step=3)
    )
    assert rows_of(joined(store).read()) == expected(step=3)


def test_explain_tells(store) -> None:
    assert joined(store).explain().splitlines()[-1].startswith("kept once it is computed")
    joined(store).read().to_arrow()
    settled(store, 1)
    last = joined(store).explain().splitlines()[-1]
    assert last.startswith("kept since 20")
    assert "given 0 times so far" in last
    alone = store.get_feature_group("seen").select("value")
    assert alone.explain().splitlines()[-1] == "not kept: it joins nothing"


def test_fifty_clients_under_a_storm_of_evictions(serve) -> None:
    """Ten questions whose results do not fit together."""
    service = serve(400_000, concurrency=50)
    url = service.listening[0]
    with hr.connect(url) as store:
        fill(store)
        whole = expected()
        wrong: list[object] = []
        answered: list[int] = []

        def ask(number: int) -> None:
            rng = random.Random(number)
            with hr.connect(url) as mine:
                for _ in range(6):
                    most = rng.randrange(10) * 50 + 50
                    query = joined(mine)
                    try:
                        found = rows_of(query.filter(query["price"] < most).read())
                    except hr.HeadraceError as error:
                        wrong.append(error)
                        continue
                    if found != [e for e in whole if e["price"] < most]:
                        wrong.append((most, len(found)))
                    answered.append(number)

        threads = [threading.Thread(target=ask, args=[number]) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:3]
        assert len(answered) == 300
        assert store.cache.stats().size_bytes <= 400_000


def test_nothing_is_kept_without_a_cache(serve) -> None:
    with (
        hr.connect(serve(None).listening[0]) as store,
        pytest.raises(hr.Unsupported, match="no results of joins"),
    ):
        store.cache.stats()


def test_an_embedded_store_says_who_keeps_results(tmp_path: Path) -> None:
    with hr.connect(tmp_path / "lake") as store, pytest.raises(hr.Unsupported) as refused:
        store.cache.list()
    assert "headrace serve --cache" in str(refused.value.hint)
