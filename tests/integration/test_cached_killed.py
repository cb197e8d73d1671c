"""Services that keep results and are killed: what the next ones give is right, and nothing half is left."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from conftest import Server, start_server

pytestmark = pytest.mark.slow

ROWS, QUESTIONS = 3_000, 12
BUDGET = "200KB"
"""Less than all answers take, so that they make room for each other all the time."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "lake"
    with hr.connect(made) as store:
        store.create_feature_group("ones", primary_key=["id"]).insert(
            pa.table({"id": range(ROWS), "one": range(ROWS)})
        )
        threes = pa.table({"id": range(ROWS), "three": range(0, 3 * ROWS, 3)})
        store.create_feature_group("threes", primary_key=["id"]).insert(threes)
    return made


def ask(store: hr.FeatureStore, number: int) -> bool:
    """Whether the answer to a question is right; the odd ones are in SQL."""
    most = number * 200 + 200
    if number % 2:
        sql = "SELECT id, t.three FROM ones JOIN threes AS t USING (id) WHERE id < $most ORDER BY id"
        found = store.sql(sql, params={"most": most}).to_arrow()
    else:
        query = store.get_feature_group("ones").select("id")
        query = query.join(store.get_feature_group("threes").select("three"), on="id")
        found = query.filter(query["id"] < most).read().to_arrow().sort_by("id")
    return bool(found["three"].to_pylist() == [*range(0, 3 * most, 3)])


@pytest.fixture
def start(root: Path, tmp_path: Path) -> Iterator[Callable[[], Server]]:
    started: list[Server] = []

    def one() -> Server:
        log = tmp_path / f"log{len(started)}"
        started.append(start_server(root, log, keeping=BUDGET))
        return started[-1]

    yield one
    for server in started:
        server.process.kill()
        server.process.wait()


def test_killed_while_they_keep_and_let_go(root: Path, start: Callable[[], Server]) -> None:
    """One after the other is killed, beside one that lives, on one folder."""
    rng = random.Random(7)
    wrong: list[str] = []
    killed: list[str] = []
    right = 0

    def client(server: Server, seed: int) -> None:
        nonlocal right
        mine = random.Random(seed)
        try:
            with server.connect(timeout=20) as store:
                while server.url not in killed:
                    number = mine.randrange(QUESTIONS)
                    if ask(store, number):
                        right += 1
                    else:
                        wrong.append(f"question {number}")
        except hr.HeadraceError as error:
            if server.url not in killed:
                wrong.append(f"{error!r} of a service that lives")

    def clients(server: Server) -> list[threading.Thread]:
        made = [threading.Thread(target=client, args=(server, rng.randrange(1000))) for _ in range(2)]
        for thread in made:
            thread.start()
        return made

    def kill(server: Server, threads: list[threading.Thread]) -> None:
        killed.append(server.url)
        server.process.kill()
        server.process.wait()
        for thread in threads:
            thread.join()

    lasting = start()
    its_own = clients(lasting)
    try:
        for _ in range(3):
            server = start()
            before, deadline = right, time.monotonic() + 60
            threads = clients(server)
            while right < before + 20 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.random())
            kill(server, threads)
            assert right >= before + 20
    finally:
        kill(lasting, its_own)
    assert not wrong, wrong[:3]
    with start().connect() as store:
        assert not [*root.glob(".headrace/results/*.draft")]
        told = store.cache.stats()
        files = [*root.glob(".headrace/results/*.arrow")]
        assert len(files) == told.results > 0
        assert sum(file.stat().st_size for file in files) == told.size_bytes <= 200_000
        assert (told.damaged, told.evicted > 0, told.hits > 0) == (0, True, True)
        assert all(ask(store, number) for number in range(QUESTIONS))
