"""Clients that ask a service for all kinds of things at once, and look at every answer: a process of several of them."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
import threading
import time
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

import headrace as hr

ROWS = 200_000
SPINE = 2_000
BOMB = "SELECT length(repeat('x', 1500000000)) AS n"
_REFUSED = (hr.Busy, hr.LimitExceeded, hr.Cancelled, hr.Timeout)


def fill(store: hr.FeatureStore) -> None:
    """What the clients read. Row `id` holds `id / 8` and `id % 97`."""
    ids = pa.arange(0, ROWS)
    at = pa.array(range(0, ROWS * 60_000_000, 60_000_000), pa.timestamp("us", "UTC"))
    numbers = store.create_feature_group("numbers", primary_key=["id"])
    numbers.insert(
        pa.table({"id": ids, "x": pc.divide(ids.cast(pa.float64()), 8.0), "k": [i % 97 for i in range(ROWS)]})
    )
    seen = store.create_feature_group("seen", primary_key=["k"], event_time="at")
    seen.insert(pa.table({"k": [i % 97 for i in range(ROWS)], "at": at, "v": ids}))
    asked = store.create_feature_group("asked", primary_key=["n"], event_time="at")
    picked = [i * 97 for i in range(SPINE)]
    asked.insert(
        pa.table({"n": range(SPINE), "k": [i % 97 for i in picked], "at": at.take(pa.array(picked))})
    )
    query = asked.select("n", "k").join(seen, on="k")
    store.create_feature_view("known", query)


@dataclasses.dataclass
class Told:
    """What became of the asking: answers and refusals by kind, seconds of small reads, and what was wrong."""

    answers: Counter[str] = dataclasses.field(default_factory=Counter)
    refused: Counter[str] = dataclasses.field(default_factory=Counter)
    small: list[float] = dataclasses.field(default_factory=list)
    wrong: list[str] = dataclasses.field(default_factory=list)


class Client:
    def __init__(self, url: str, project: str, number: int, told: Told) -> None:
        self._store = hr.connect(url, project=project, timeout=120)
        self._group = self._store.get_feature_group("numbers")
        self._view = self._store.get_feature_view("known")
        self._random = random.Random(number)
        self._told = told

    def work(self, until: float) -> None:
        kinds = (
            [self.small] * 10 + [self.sql] * 4 + [self.joined] * 2 + [self.scan] * 2 + [self.left, self.bomb]
        )
        while time.monotonic() < until:
            ask = self._random.choice(kinds)
            name = ask.__name__
            try:
                ask()
                self._told.answers[name] += 1
            except _REFUSED as error:
                self._told.refused[f"{name} {error.code}"] += 1
                if isinstance(error, hr.Busy):
                    time.sleep(min(error.retry_after or 0.1, 1))
            except Exception as error:
                self._told.wrong.append(f"{name}: {type(error).__name__}: {error}"[:300])

    def small(self) -> None:
        wanted = self._random.randrange(ROWS)
        start = time.monotonic()
        found = self._group.read(filter=self._group["id"] == wanted).to_arrow().to_pylist()
        self._told.small.append(time.monotonic() - start)
        self._check(found == [{"id": wanted, "x": wanted / 8, "k": wanted % 97}], "small", found)

    def sql(self) -> None:
        k = self._random.randrange(97)
        found = self._store.sql("SELECT count(*) AS n, sum(id) AS s FROM numbers WHERE k = ?", [k]).to_arrow()
        ids = range(k, ROWS, 97)
        self._check(found.to_pylist() == [{"n": len(ids), "s": sum(ids)}], "sql", found.to_pylist())

    def joined(self) -> None:
        found = self._view.training_data().to_arrow().sort_by("n")
        self._check(found["v"].to_pylist() == [n * 97 for n in range(SPINE)], "joined", found[:3])

    def scan(self) -> None:
        total = rows = 0
        for batch in self._group.read(["id"]).to_reader():
            rows += batch.num_rows
            total += pc.sum(batch["id"]).as_py() or 0
        self._check((rows, total) == (ROWS, ROWS * (ROWS - 1) // 2), "scan", (rows, total))

    def left(self) -> None:
        next(iter(self._group.read().to_reader()))

    def bomb(self) -> None:
        try:
            self._store.sql(BOMB).to_arrow()
        except hr.LimitExceeded:
            return
        self._check(False, "bomb", "it was answered")

    def _check(self, is_right: bool, name: str, found: object) -> None:
        if not is_right:
            self._told.wrong.append(f"{name}: {found}"[:300])


def main() -> None:
    url, project, first, count, seconds = sys.argv[1:]
    told = Told()
    clients = [Client(url, project, int(first) + number, told) for number in range(int(count))]
    until = time.monotonic() + float(seconds)
    threads = [threading.Thread(target=client.work, args=[until]) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(vars(told)))


if __name__ == "__main__":
    main()
