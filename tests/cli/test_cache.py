"""`headrace cache`: what a service keeps, as people and programs see it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from cli.helpers import Ran, on_terminal
from conftest import Server

ROWS = 1_000


@pytest.fixture
def service(serve: Callable[..., Server], tmp_path: Path) -> str:
    """One that keeps the result of a join, and has given it once more."""
    url = serve(tmp_path / "lake", keeping="50MB").url
    with hr.connect(url, project="shop") as store:
        customers = store.create_feature_group("customers", primary_key=["who"])
        customers.insert(pa.table({"who": range(10), "city": [f"c{i}" for i in range(10)]}))
        orders = store.create_feature_group("orders", primary_key=["id"])
        orders.insert(pa.table({"id": range(ROWS), "who": [i % 10 for i in range(ROWS)]}))
        query = orders.select("id").join(customers.select("city"), on="who")
        query.read().to_arrow()
        deadline = time.monotonic() + 30
        while not store.cache.stats().results:
            assert time.monotonic() < deadline
        assert query.read().to_arrow().num_rows == ROWS
    return url


def test_list_stats_clear(command: Callable[..., Ran], service: str) -> None:
    shop = ("--store", service, "--project", "shop")
    head, _, row = command("cache", "list", *shop).lines
    assert head.split() == ["id", "groups", "rows", "size", "computed", "in", "because", "at", "hits"]
    assert "orders@v1, customers@v1" in row
    assert row.endswith("1")
    (told,) = command("cache", "list", *shop, "--json").json
    assert (told["groups"], told["rows"], told["hits"], told["ahead"]) == (
        ["orders@v1", "customers@v1"],
        ROWS,
        1,
        False,
    )
    stats = command("cache", "stats", *shop).lines
    assert any(line.split() == ["hits", "1,", "50%", "of", "2", "reads"] for line in stats)
    assert any(line.split()[:2] == ["misses", "1,"] for line in stats)
    found = command("cache", "stats", *shop, "--json").json
    assert (found["hits"], found["misses"], found["results"], found["results_ahead"]) == (1, 1, 1, 0)
    assert command("cache", "clear", *shop).lines == ["1 result is gone"]
    assert command("cache", "list", *shop).lines == ["no results"]
    assert command("cache", "clear", *shop, "--json").json == {"cleared": 0}


def test_a_narrow_terminal_is_told_what_it_lacks(service: str) -> None:
    code, shown = on_terminal("cache", "list", "--store", service, "--project", "shop", columns=60)
    assert code == 0
    table, note = re.sub(r"\x1b\[[0-9;]*m|\r", "", shown).split("columns left out: ")
    assert all(len(line) <= 60 for line in table.splitlines())
    assert "hits; a wider terminal, or --json, shows them" in " ".join(note.split())


def test_who_keeps_nothing_says_so(command: Callable[..., Ran], tmp_path: Path) -> None:
    hr.connect(tmp_path / "lake").close()
    for verb in ("list", "stats", "clear"):
        ran = command("cache", verb, "--store", tmp_path / "lake", "--json")
        assert ran.error["code"] == "UNSUPPORTED"
        assert "--cache" in ran.error["hint"]
