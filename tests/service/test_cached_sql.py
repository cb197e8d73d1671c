"""Results of queries in SQL that a service keeps."""

from __future__ import annotations

import datetime as dt
import random
import threading
from collections.abc import Iterator

import pytest
from adbc_driver_flightsql import dbapi

import headrace as hr
from headrace.client import remote
from headrace.model.request import ReadRequest
from headrace.wiring import Service
from service.kept import keeping_service
from service.test_cached import orders, seen

JOIN = "SELECT o.id, sum(s.value) AS total FROM orders o JOIN seen s ON o.who = s.who GROUP BY o.id"
SMALL = 120


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with keeping_service(tmp_path_factory.mktemp("sql") / "lake") as made:
        yield made


@pytest.fixture
def store(service: Service) -> Iterator[hr.FeatureStore]:
    """A project of its own, in which nothing is kept yet."""
    name = f"p{random.Random().randrange(10**9)}"
    with hr.connect(service.listening[0], project=name) as opened:
        opened.create_feature_group("seen", primary_key=["who"], event_time="at").insert(seen(SMALL))
        opened.create_feature_group("orders", primary_key=["id"], event_time="at").insert(orders(SMALL))
        yield opened


def totals(step: int = 1) -> dict[int, int]:
    return {i: sum(j * step for j in range(SMALL) if j % 10 == i * 7 % 10) for i in range(SMALL)}


def read(store: hr.FeatureStore, sql: str = JOIN, **options: object) -> dict[int, int]:
    found = store.sql(sql, **options).to_arrow()
    return dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))


def kept(store: hr.FeatureStore) -> list[hr.KeptResult]:
    return store.cache.list()


def settle(store: hr.FeatureStore, number: int) -> None:
    deadline = dt.datetime.now() + dt.timedelta(seconds=30)
    while len(kept(store)) != number:
        assert dt.datetime.now() < deadline, kept(store)


@pytest.mark.parametrize("mapped", [True, False])
def test_it_is_given_again_however_it_is_written(store, mapped: bool, monkeypatch) -> None:
    if not mapped:
        monkeypatch.setattr(remote, "mapped_rows", lambda _: None)
    assert read(store) == totals()
    settle(store, 1)
    assert read(store) == totals()
    again = "select x.id as number, sum(y.value) as v from orders as x join seen as y on y.who = x.who group by x.id"
    assert read(store, again) == totals()
    swapped = "SELECT sum(s.value) AS total, o.id FROM orders o JOIN seen s ON o.who = s.who GROUP BY o.id"
    found = store.sql(swapped).to_arrow()
    assert found.schema.names == ["total", "id"]
    assert dict(zip(found["id"].to_pylist(), found["total"].to_pylist(), strict=True)) == totals()
    (result,) = kept(store)
    assert (result.hits, {*result.groups}) == (3, {"orders@v1", "seen@v1"})


def test_a_struct_that_is_taken_apart_is_as_many_columns_as_it_has_fields(store) -> None:
    sql = "SELECT unnest({'most': max(id), 'least': min(id)}) FROM orders"
    once, again = (store.sql(sql).to_arrow().to_pylist() for _ in range(2))
    assert once == again == [{"most": max(totals()), "least": min(totals())}]


def test_a_commit_to_any_table_is_another_question(store) -> None:
    read(store)
    settle(store, 1)
    store.get_feature_group("seen").insert(seen(SMALL, step=2))
    assert read(store) == totals(step=2)
    before = store.get_feature_group("seen").history()[-1].snapshot
    settle(store, 2)
    past = JOIN.replace("JOIN seen s", f"JOIN seen AS s AT (VERSION => {before})")
    assert read(store, past) == totals()


def test_parameters_are_a_part_of_the_question(store) -> None:
    sql = "SELECT o.id, s.value FROM orders o JOIN seen s ON o.id = s.value WHERE s.value < $most"
    for _ in range(2):
        assert len(read(store, sql, params={"most": 7})) == 7
        assert len(read(store, sql, params={"most": 8})) == 8
        settle(store, 2)
    assert [result.hits for result in kept(store)] == [1, 1]
    # The same value, written out.
    assert len(read(store, sql.replace("$most", "8"))) == 8
    assert sum(result.hits for result in kept(store)) == 3


def test_fewer_columns_are_answered_from_more(store) -> None:
    sql = "SELECT {} FROM orders o JOIN seen s ON o.id = s.value WHERE o.price > 3"
    assert store.sql(sql.format("o.id, s.value, s.text")).to_arrow().num_rows == SMALL - 13
    settle(store, 1)
    found = store.sql(sql.format("s.text AS name, o.id")).to_arrow()
    assert found.schema.names == ["name", "id"]
    assert sorted(found.to_pylist(), key=lambda row: row["id"]) == [
        {"name": f"t{i}", "id": i} for i in range(13, SMALL)
    ]
    assert [result.hits for result in kept(store)] == [1]


def test_an_order_and_a_limit_stay(store, service: Service) -> None:
    sql = "SELECT s.value FROM orders o JOIN seen s ON o.id = s.value ORDER BY s.value DESC LIMIT 5"
    for _ in range(3):
        found = store.sql(sql).to_arrow()["value"].to_pylist()
        assert found == [*range(SMALL - 1, SMALL - 6, -1)]
        settle(store, 1)
    assert [result.hits for result in kept(store)] == [2]
    prepared = service._store.project(store.project).prepare(ReadRequest(kind="query", sql=sql))
    assert prepared.kept is not None
    assert service._store.project(store.project).parts(prepared) == 1


def test_who_asks_at_once_waits_for_the_first(store, service: Service) -> None:
    before = service._store.cache.results.statistics()
    sql = (
        f"{JOIN} HAVING sum(s.value) >= (SELECT min(a.value + b.value + c.value) FROM seen a, seen b, seen c)"
    )
    found: list[dict[int, int]] = []
    threads = [threading.Thread(target=lambda: found.append(read(store, sql))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [totals()] * 6
    after = service._store.cache.results.statistics()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 5)


def test_views_are_tables(store) -> None:
    query = (
        store.get_feature_group("orders")
        .select("id")
        .join(store.get_feature_group("seen").select("value"), on="who")
    )
    store.create_feature_view("joined", query)
    sql = "SELECT id, value FROM joined"
    first = read(store, sql)
    settle(store, 1)
    assert read(store, sql) == first
    assert [result.hits for result in kept(store)] == [1]
    store.get_feature_group("seen").insert(seen(SMALL, step=2))
    assert read(store, sql) == {i: None if v is None else 2 * v for i, v in first.items()}


def test_what_chooses_rows_of_one_table_is_not_kept(store) -> None:
    for _ in range(2):
        assert store.sql("SELECT id FROM orders WHERE price > 3 ORDER BY price").to_arrow().num_rows == 107
    assert kept(store) == []
    told = store._backend.explain(ReadRequest(kind="query", sql="SELECT id FROM orders WHERE price > 3"))
    assert told.splitlines()[-1] == "not kept: it joins and computes nothing"


def test_explain_tells(store) -> None:
    asked = ReadRequest(kind="query", sql=JOIN)
    assert store._backend.explain(asked).splitlines()[-1].startswith("kept once it is computed")
    read(store)
    settle(store, 1)
    assert store._backend.explain(asked).splitlines()[-1].startswith("kept since 20")


def test_flight_sql_is_given_the_same(store, service: Service) -> None:
    read(store)
    settle(store, 1)
    with (
        dbapi.connect(
            service.listening[0],
            db_kwargs={"adbc.flight.sql.rpc.call_header.headrace-project": store.project},
            autocommit=True,
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(
            JOIN.replace("orders", f"{store.project}.orders").replace("seen", f"{store.project}.seen")
        )
        assert dict(cursor.fetchall()) == totals()


def test_tables_of_another_project(store, service: Service) -> None:
    with hr.connect(service.listening[0], project="elsewhere") as other:
        sql = JOIN.replace("FROM orders", f"FROM {store.project}.orders").replace(
            "JOIN seen", f"JOIN {store.project}.seen"
        )
        assert read(other, sql) == totals()
        settle(other, 1)
        assert read(other, sql) == totals()
        assert [result.hits for result in kept(other)] == [1]


class TestRights:
    """What another has had computed is given to who may see all that it is made of, and to nobody else."""

    @pytest.fixture
    def asked(self, store) -> ReadRequest:
        read(store)
        settle(store, 1)
        return ReadRequest(kind="query", sql=JOIN)

    def test_who_may_see_all_of_it_is_given_it(self, store, service, asked) -> None:
        store.grants.add("anna", "reader")
        anna = service._store.project(store.project, "anna")
        assert anna.prepare(asked).kept is not None

    @pytest.mark.parametrize("group", ["orders", "seen"])
    def test_one_table_is_not_enough(self, store, service, asked, group: str) -> None:
        store.grants.add("bert", "reader", group=group)
        with pytest.raises(hr.NotFound):
            service._store.project(store.project, "bert").prepare(asked)

    def test_a_column_less_is_another_question(self, store, service) -> None:
        sql = "SELECT * FROM orders o JOIN seen s ON o.id = s.value"
        assert len(store.sql(sql.replace("*", "o.*, s.text")).to_arrow().schema) == 5
        settle(store, 1)
        store.grants.add("carl", "reader", group="orders", columns=["price"])
        store.grants.add("carl", "reader", group="seen")
        carl = service._store.project(store.project, "carl")
        prepared = carl.prepare(ReadRequest(kind="query", sql=sql.replace("*", "o.*, s.text")))
        assert prepared.kept is None
        rows = carl.run(prepared, None).table()
        assert rows.schema.names == ["id", "at", "price", "text"]
        hidden = ReadRequest(
            kind="query", sql="SELECT o.who, s.text FROM orders o JOIN seen s ON o.id = s.value"
        )
        with pytest.raises(hr.HeadraceError):
            carl.prepare(hidden)

    def test_what_was_granted_is_taken_back(self, store, service, asked) -> None:
        store.grants.add("dora", "reader", group="orders")
        store.grants.add("dora", "reader", group="seen")
        prepared = service._store.project(store.project, "dora").prepare(asked)
        assert prepared.kept is not None
        store.grants.remove("dora", group="seen")
        with pytest.raises(hr.NotFound):
            service._store.project(store.project, "dora").run(prepared, None)

    def test_admins_are_told_no_names_of_other_projects(self, store, service) -> None:
        with hr.connect(service.listening[0], project=f"{store.project}x") as other:
            other.grants.add("ada", "admin")
            sql = JOIN.replace("FROM orders", f"FROM {store.project}.orders").replace(
                "JOIN seen", f"JOIN {store.project}.seen"
            )
            read(other, sql)
            settle(other, 1)
            (listed,) = service._store.project(other.project, "ada").list_results()
            assert {*listed.groups} == {"…"}

    def test_a_table_made_again_under_its_name_is_another(self, store, asked) -> None:
        store.delete_feature_group("seen", 1)
        store.create_feature_group("seen", version=1, primary_key=["who"], event_time="at").insert(
            seen(SMALL, step=3)
        )
        assert read(store) == totals(step=3)
