"""Joins that are computed before anybody asks."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

import headrace as hr
from headrace.client.store import FeatureStore
from headrace.config import store_config
from headrace.model.ask import Ask
from headrace.model.request import ReadRequest
from headrace.service import ahead
from headrace.service.ahead import Ahead
from headrace.service.cache import Cache
from headrace.service.store import Store
from headrace.wiring import Service

ROWS = 300
START = dt.datetime(2026, 8, 3, 9, tzinfo=dt.UTC)


class Scene:
    """A store whose time is set, and in which things are computed ahead when somebody says so."""

    def __init__(self, root: Path, budget: int = 100_000_000) -> None:
        self.now = START
        self.busy = False
        self.store = Store(store_config(str(root)), cache_bytes=budget, remembers=True)
        cache = self.store.cache
        assert cache is not None
        assert cache.asked is not None
        cache.least_seconds = 0
        cache.asked.now = lambda: self.now
        cache.results.has_room_ahead = lambda *_: True  # type: ignore[method-assign]  # however long things take
        self.cache: Cache = cache
        self.ahead = Ahead(self.store, lambda: self.busy, lambda: self.now)
        self.fs = FeatureStore(self.store.project("p"), "", "p")
        self.dims = self.fs.create_feature_group("dims", primary_key=["k"])
        self.dims.insert(pa.table({"k": range(ROWS), "weight": [i / 8 for i in range(ROWS)]}))

    def close(self) -> None:
        self.ahead.close()
        self.store.close()

    def table(self, name: str, seed: int) -> hr.FeatureGroup:
        group = self.fs.create_feature_group(name, primary_key=["id"])
        ids = range(ROWS)
        group.insert(
            pa.table({"id": ids, "k": [(i + seed) % ROWS for i in ids], "x": [i * seed for i in ids]})
        )
        return group

    def query(self, name: str) -> hr.Query:
        return self.fs.get_feature_group(name).select("id", "x").join(self.dims.select("weight"), on="k")

    def ask(self, name: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.query(name).read().to_arrow().sort_by("id").to_pylist()
        while self.cache.flights.number:
            time.sleep(0.001)
        return found

    def step(self) -> int:
        assert self.cache.asked is not None
        self.cache.asked.flush()
        return self.ahead.step()

    def days_pass(self, days: int = 1) -> None:
        self.now += dt.timedelta(days=days)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "lake")
    yield made
    made.close()


def expected(seed: int) -> list[dict[str, object]]:
    return [{"id": i, "x": i * seed, "weight": (i + seed) % ROWS / 8} for i in range(ROWS)]


def test_the_third_of_daily_tables_is_there_before_it_is_asked_for(scene: Scene) -> None:
    for day in (3, 4):
        scene.table(f"sales2026080{day}", day)
        assert scene.ask(f"sales2026080{day}") == expected(day)
        scene.days_pass()
    assert scene.step() == 0
    scene.table("sales20260805", 5)
    assert scene.step() == 1
    (entry, *_) = [e for e in scene.cache.results.entries("p") if e.ahead]
    assert entry.groups == ("sales20260805@v1", "dims@v1")
    assert "computed ahead" in scene.query("sales20260805").explain().splitlines()[-1]
    assert scene.ask("sales20260805") == expected(5)
    found = scene.cache.results.statistics()
    assert (found.hits_ahead, found.misses) == (1, 2)
    assert scene.step() == 0


def test_tables_that_are_there_already_are_each_computed_once(scene: Scene) -> None:
    for day in range(1, 9):
        scene.table(f"sales2026080{day}", day)
    for day in range(1, 9):
        assert scene.ask(f"sales2026080{day}") == expected(day)
        scene.days_pass()
        scene.step()
    found = scene.cache.results.statistics()
    assert (found.misses, found.hits_ahead) == (2, 6)
    assert (found.results_ahead, found.wasted_bytes) == (6, 0)


def test_so_is_the_third_in_sql(scene: Scene) -> None:
    def ask(day: int) -> list[dict[str, object]]:
        name = f"sales2026080{day}"
        sql = f"SELECT s.id, s.x, d.weight FROM {name} AS s JOIN dims AS d ON d.k = s.k ORDER BY s.id"
        found: list[dict[str, object]] = scene.fs.sql(sql).to_arrow().to_pylist()
        while scene.cache.flights.number:
            time.sleep(0.001)
        return found

    for day in (3, 4):
        scene.table(f"sales2026080{day}", day)
        assert ask(day) == expected(day)
        scene.days_pass()
    assert scene.step() == 0
    scene.table("sales20260805", 5)
    assert scene.step() == 1
    assert ask(5) == expected(5)
    found = scene.cache.results.statistics()
    assert (found.hits_ahead, found.misses) == (1, 2)


def test_what_takes_too_long_is_given_up(scene: Scene, monkeypatch) -> None:
    monkeypatch.setattr(ahead, "_LONGEST_S", 0.3)
    endless = "SELECT count(*) AS n FROM dims a, dims b, dims c, dims d, dims e WHERE a.weight < {} AND b.k > c.k + d.k"
    project = scene.store.project("p")
    for day in (3, 4):
        sql = f"{endless.format(1000)} AND DATE '2026-08-0{day}' > DATE '2020-01-01'"
        project.prepare(ReadRequest(kind="query", sql=sql))  # which takes no rows
        scene.days_pass()
    for _ in range(6):
        begun = time.monotonic()
        assert scene.step() == 0
        assert time.monotonic() - begun < 5
    assert scene.cache.results.statistics().results_ahead == 1


def test_sql_that_returns_after_each_commit(scene: Scene) -> None:
    sql = "SELECT d.weight, count(*) AS n FROM sales AS s JOIN dims AS d ON d.k = s.k GROUP BY d.weight"
    other = "SELECT max(d.weight) AS most FROM sales AS s JOIN dims AS d ON d.k = s.k"
    group = scene.table("sales", 1)
    for seed in (2, 3):
        scene.fs.sql(sql).to_arrow()
        scene.fs.sql(other).to_arrow()
        group.insert(pa.table({"id": [1000 + seed], "k": [seed], "x": [seed]}))
        scene.days_pass()
    scene.fs.sql(sql).to_arrow()
    scene.fs.sql(other).to_arrow()
    while scene.cache.flights.number:
        time.sleep(0.001)
    assert scene.step() == 0
    group.insert(pa.table({"id": [2000], "k": [7], "x": [7]}))
    assert scene.step() == 2
    assert scene.fs.sql(sql).to_arrow()["n"].to_pylist().count(2) == 3
    assert scene.cache.results.statistics().hits_ahead == 1


def test_a_table_that_is_not_full_yet_is_waited_for(scene: Scene) -> None:
    for day in (3, 4):
        scene.table(f"sales2026080{day}", day)
        scene.ask(f"sales2026080{day}")
        scene.days_pass()
    empty = scene.fs.create_feature_group(
        "sales20260805",
        primary_key=["id"],
        schema=pa.schema([("id", pa.int64()), ("k", pa.int64()), ("x", pa.int64())]),
    )
    usual = scene.fs.get_feature_group("sales20260804").history()[0].snapshot
    if empty.history() and empty.history()[0].snapshot < usual:
        assert scene.step() == 0
    empty.insert(pa.table({"id": [1], "k": [1], "x": [1]}))
    assert scene.step() == 1


def test_what_is_asked_after_commits_is_computed_after_the_next(scene: Scene) -> None:
    group = scene.table("orders", 1)
    for day in range(2):
        scene.ask("orders")
        scene.days_pass()
        group.insert([{"id": ROWS + day, "k": 1, "x": 1}], mode="append")
    for day in range(2, 5):
        assert scene.step() == 1
        assert scene.step() == 0
        assert len(scene.ask("orders")) == ROWS + day
        scene.days_pass()
        group.insert([{"id": ROWS + day, "k": 1, "x": 1}], mode="append")
    found = scene.cache.results.statistics()
    assert (found.hits_ahead, found.misses) == (3, 2)


def test_nothing_while_users_are_at_it(scene: Scene) -> None:
    for day in (3, 4):
        scene.table(f"sales2026080{day}", day)
        scene.ask(f"sales2026080{day}")
        scene.days_pass()
    scene.table("sales20260805", 5)
    scene.busy = True
    assert scene.step() == 0
    scene.busy = False
    assert scene.step() == 1


def test_what_nobody_asks_for_is_given_up(scene: Scene) -> None:
    for day in range(1, 10):
        scene.table(f"sales2026080{day}", day)
    for day in (1, 2):
        scene.ask(f"sales2026080{day}")
        scene.days_pass()
    made = sum(scene.step() for _ in range(10))
    assert 0 < made <= 3
    scene.days_pass(30)
    assert scene.step() == 0
    results = scene.cache.results
    for day in (5, 8, 6):  # without any order
        scene.ask(f"sales2026080{day}")
    scene.step()
    assert results.statistics().wasted_bytes > 0
    assert not [e for e in results.entries("p") if e.ahead and not e.hits]


def test_a_schema_that_changes_costs_one_ask(scene: Scene) -> None:
    for day in range(1, 8):
        scene.table(f"sales2026080{day}", day)
        scene.step()
        if day < 5:
            scene.ask(f"sales2026080{day}")
        else:
            group = scene.fs.get_feature_group(f"sales2026080{day}")
            query = group.select("id", "x", "k").join(scene.dims.select("weight"), on="k")
            query.read().to_arrow()
            while scene.cache.flights.number:
                time.sleep(0.001)
        scene.days_pass()
    found = scene.cache.results.statistics()
    assert (found.hits_ahead, found.misses) == (4, 3)
    assert len([e for e in scene.cache.results.entries("p") if e.ahead and not e.hits]) <= 1


def test_what_fails_is_not_tried_again_and_again(scene: Scene) -> None:
    twice = scene.fs.create_feature_group("twice", primary_key=["k"])
    root = scene.table("root", 1)
    twice.insert(pa.table({"k": [5], "y": [1]}))
    query = root.select("id").join(twice.select("y"), on="k")
    query.read().to_arrow()
    root.insert([{"id": ROWS, "k": 1, "x": 1}], mode="append")
    query.read().to_arrow()
    root.insert([{"id": ROWS + 1, "k": 1, "x": 1}], mode="append")
    twice.insert(pa.table({"k": [5], "y": [2]}), mode="append")
    running = []
    reader = scene.fs._backend.cached._readers(None)
    whole = reader.running
    reader.running = lambda *given: running.append(1) or whole(*given)
    for _ in range(4):
        assert scene.step() == 0
    assert len(running) <= 1


def test_tables_that_change_without_being_asked_about_are_given_up(scene: Scene) -> None:
    group = scene.table("orders", 1)
    for number in range(2):
        scene.ask("orders")
        group.insert([{"id": ROWS + number, "k": 1, "x": 1}], mode="append")
    made = 0
    for number in range(2, 14):
        made += scene.step()
        group.insert([{"id": ROWS + number, "k": 1, "x": 1}], mode="append")
    assert made <= 3


def test_asks_that_nobody_could_make_keep_it_from_nothing(scene: Scene) -> None:
    scene.table("orders", 1)
    request = scene.query("orders").read()._prepared.request
    odd = msgspec.structs.replace(
        request, now=None, locations={"start": "x", "group": "a20260803"}, schemas={}
    )
    cache = scene.cache
    assert cache.asked is not None
    scene.store.registry.history.add([("p", Ask(odd, (1, 1), scene.now))])
    for day in (3, 4):
        scene.table(f"sales2026080{day}", day)
        scene.ask(f"sales2026080{day}")
        scene.days_pass()
    scene.table("sales20260805", 5)
    assert scene.step() == 1


def test_what_was_asked_is_remembered_by_the_next_service(scene: Scene, tmp_path: Path) -> None:
    for day in (3, 4):
        scene.table(f"sales2026080{day}", day)
        scene.ask(f"sales2026080{day}")
        scene.days_pass()
    scene.step()
    scene.ahead = Ahead(scene.store, lambda: False, lambda: scene.now)
    scene.table("sales20260805", 5)
    assert scene.step() == 1


def test_without_prediction_nothing_is_remembered(tmp_path: Path) -> None:
    service = Service(
        store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], cache_bytes=10_000_000, predicts=False
    )
    with hr.connect(service.listening[0]) as store:
        group = store.create_feature_group("g", primary_key=["id"])
        group.insert(pa.table({"id": [1], "k": [1]}))
        other = store.create_feature_group("h", primary_key=["k"])
        other.insert(pa.table({"k": [1], "y": [2]}))
        group.select("id").join(other.select("y"), on="k").read().to_arrow()
    assert service._store.registry.history.since(0) == ([], 0)
    service.stop()


def test_a_service_computes_ahead_by_itself(tmp_path: Path) -> None:
    service = Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], cache_bytes=10_000_000)
    assert service._store.cache is not None
    service._store.cache.least_seconds = 0
    with hr.connect(service.listening[0]) as store:
        group = store.create_feature_group("g", primary_key=["id"])
        other = store.create_feature_group("h", primary_key=["k"])
        other.insert(pa.table({"k": range(ROWS), "y": range(ROWS)}))
        query = None
        for number in range(3):
            group.insert([{"id": number, "k": number}], mode="append")
            query = group.select("id").join(other.select("y"), on="k")
            query.read().to_arrow()
            time.sleep(1.2)  # in which the ask is written down
        group.insert([{"id": 9, "k": 9}], mode="append")
        deadline = time.monotonic() + 60
        while not any(result.ahead for result in store.cache.list()):
            assert time.monotonic() < deadline, store.cache.stats()
            time.sleep(0.2)
        assert query is not None
        assert sorted(query.read().to_arrow()["y"].to_pylist()) == [0, 1, 2, 9]
        # Of an earlier one, too, where the service was fast.
        assert store.cache.stats().hits_ahead >= 1
    service.stop()
