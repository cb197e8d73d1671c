"""Sixty days of joins over tables that come daily, replayed: what of it was computed before it was asked for.

`python -m benchmarks.replay [SEED]`. Names, columns, times and parameters are drawn by the seed, which what predicts
does not know. Every day tables come and change, the service has time, and then users ask, but on weekends.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import headrace as hr
from headrace.client.store import FeatureStore
from headrace.config import store_config
from headrace.model.kept_result import CacheStatistics
from headrace.service.ahead import Ahead
from headrace.service.store import Store

DAYS = 60
ROWS = 5_000
_CACHE_BYTES = 10_000_000_000


@dataclasses.dataclass
class Told:
    """What became of the first asks of one family.

    Args:
        asks: that were the first of their kind.
        predicted: of these, whose result was there before.
        made_bytes, used_bytes: of results that were computed ahead, and of those that were then asked for.
    """

    asks: int = 0
    predicted: int = 0
    made_bytes: int = 0
    used_bytes: int = 0
    missed: list[int] = dataclasses.field(default_factory=list)

    @property
    def share(self) -> float:
        return self.predicted / max(1, self.asks)

    @property
    def unused(self) -> float:
        return 1 - self.used_bytes / self.made_bytes if self.made_bytes else 0.0


class Family:
    """Tables that come and change, and one question about them a day.

    Args:
        rng: draws names and parameters.
    """

    title: ClassVar[str]

    def __init__(self, fs: FeatureStore, rng: random.Random, rows: int) -> None:
        self.fs = fs
        self.rng = rng
        self.rows = rows
        self.base = "".join(rng.choices("abcdefghij", k=6))
        self.value = rng.choice(["amount", "price", "score"])
        self.prepare()

    def prepare(self) -> None:
        """What is there before the first day."""
        self.dims = self.fs.create_feature_group(f"{self.base}_dims", primary_key=["k"])
        self.dims.insert(pa.table({"k": range(self.rows), "weight": [i / 7 for i in range(self.rows)]}))

    def arrive(self, day: dt.date) -> None:
        """What comes on a day."""

    def ask(self, day: dt.date) -> hr.Query:
        """What users ask on it."""
        raise NotImplementedError

    def daily(self, name: str, day: dt.date, *, extra: bool = False) -> None:
        """One table of a day."""
        rows = {"id": range(self.rows), "k": [i * 13 % self.rows for i in range(self.rows)]}
        rows[self.value] = [float(i + day.toordinal()) for i in range(self.rows)]
        if extra:
            rows["extra"] = [i % 3 for i in range(self.rows)]
        self.fs.create_feature_group(name, primary_key=["id"]).insert(pa.table(rows), mode="append")

    def with_dims(self, name: str, *columns: str) -> hr.Query:
        query = self.fs.get_feature_group(name).select("id", self.value, *columns)
        return query.join(self.dims.select("weight"), on="k")


class ByDay(Family):
    """Names with days in them; half-way, the tables have a column more, which is asked for from then on."""

    title = "names by day"

    def prepare(self) -> None:
        super().prepare()
        self.form = self.rng.choice(["%Y%m%d", "%Y_%m_%d"])
        self.days = 0
        self.wide: set[dt.date] = set()

    def name(self, day: dt.date) -> str:
        return f"{self.base}{day.strftime(self.form)}"

    def arrive(self, day: dt.date) -> None:
        self.days += 1
        if self.days > DAYS // 2:
            self.wide.add(day)
        self.daily(self.name(day), day, extra=day in self.wide)

    def ask(self, day: dt.date) -> hr.Query:
        return self.with_dims(self.name(day), *(["extra"] if day in self.wide else []))


class ByWeek(Family):
    """Names with weeks in them; rows come every day."""

    title = "names by week"

    def name(self, day: dt.date) -> str:
        year, week, _ = day.isocalendar()
        return f"{self.base}_{year}w{week:02}"

    def arrive(self, day: dt.date) -> None:
        try:
            group = self.fs.get_feature_group(self.name(day))
        except hr.NotFound:
            self.daily(self.name(day), day)
        else:
            group.insert([{"id": self.rows + day.toordinal(), "k": 1, self.value: 1.0}], mode="append")

    def ask(self, day: dt.date) -> hr.Query:
        return self.with_dims(self.name(day))


class TwoMoving(Family):
    """Two tables of a day, whose names write it differently."""

    title = "two moving tables"

    def names(self, day: dt.date) -> tuple[str, str]:
        return f"{self.base}_{day:%Y%m%d}", f"stock_{self.base}_{day:%Y_%m_%d}"

    def arrive(self, day: dt.date) -> None:
        for name in self.names(day):
            self.daily(name, day)

    def ask(self, day: dt.date) -> hr.Query:
        left, right = map(self.fs.get_feature_group, self.names(day))
        return left.select("id", self.value).join(right.select(self.value), on={"k": "id"}, prefix="was_")


class Literal(Family):
    """A day that is compared, in a table to which rows come every day."""

    title = "date literal"

    def prepare(self) -> None:
        super().prepare()
        self.back = self.rng.randrange(1, 10)
        self.fs.create_feature_group(f"{self.base}_log", primary_key=["id"], event_time="at")

    def arrive(self, day: dt.date) -> None:
        start, count = day.toordinal() * self.rows, self.rows // 10
        at = dt.datetime.combine(day, dt.time(1), dt.UTC)
        rows = {
            "id": range(start, start + count),
            "k": [i % self.rows for i in range(count)],
            "at": pa.array([at] * count, pa.timestamp("us", "UTC")),
            self.value: [i / 2 for i in range(count)],
        }
        self.fs.get_feature_group(f"{self.base}_log").insert(pa.table(rows), mode="append")

    def ask(self, day: dt.date) -> hr.Query:
        log = self.fs.get_feature_group(f"{self.base}_log")
        since = dt.datetime.combine(day - dt.timedelta(days=self.back), dt.time(), dt.UTC)
        return (
            log.filter(log["at"] >= since).select("id", self.value).join(self.dims.select("weight"), on="k")
        )


class AfterCommit(Family):
    """The same question after every commit."""

    title = "refresh after commit"

    def prepare(self) -> None:
        super().prepare()
        self.daily(self.base, dt.date(2026, 1, 1))

    def arrive(self, day: dt.date) -> None:
        row = {"id": self.rows + day.toordinal(), "k": 1, self.value: 1.0}
        self.fs.get_feature_group(self.base).insert([row], mode="append")

    def ask(self, day: dt.date) -> hr.Query:
        return self.with_dims(self.base)


FAMILIES: tuple[type[Family], ...] = (ByDay, ByWeek, TwoMoving, Literal, AfterCommit)


class Replay:
    """One store, in which a family after the other is asked about."""

    def __init__(self, root: Path, seed: int, rows: int = ROWS) -> None:
        self.rng = random.Random(seed)
        self.rows = rows
        self.store = Store(store_config(str(root)), cache_bytes=_CACHE_BYTES, remembers=True)
        assert self.store.cache is not None
        self.store.cache.least_seconds = 0  # what is small here stands for what is not
        assert self.store.cache.asked is not None
        self.now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        self.store.cache.asked.now = lambda: self.now
        self.ahead = Ahead(self.store, lambda: False, lambda: self.now)

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.ahead.close()
        self.store.close()

    def family(self, kind: type[Family], days: int, tell: Callable[[], None] = lambda: None) -> Told:
        told = Told()
        project = f"p{self.rng.randrange(10**6)}"
        fs = FeatureStore(self.store.project(project), "", project)
        family = kind(fs, self.rng, self.rows)
        start = dt.date(2026, 1, 1) + dt.timedelta(days=self.rng.randrange(300))
        for number in range(days):
            day = start + dt.timedelta(days=number)
            self.now = dt.datetime.combine(day, dt.time(9), dt.UTC)
            family.arrive(day)
            self._rest()
            if day.weekday() < 5:
                self._ask(family.ask(day), told, number)
            tell()
        cache = self.store.cache
        assert cache is not None
        for entry in cache.results.entries(project):
            if entry.ahead:
                told.made_bytes += entry.size_bytes
                told.used_bytes += entry.size_bytes if entry.hits else 0
        told.made_bytes += self._given_up
        self._given_up = 0
        return told

    def shuffled(self, days: int) -> float:
        """The share of the time for joins that is spent ahead, where all is asked in no order."""
        project = f"p{self.rng.randrange(10**6)}"
        fs = FeatureStore(self.store.project(project), "", project)
        families = [kind(fs, self.rng, self.rows) for kind in FAMILIES]
        start = dt.date(2026, 1, 1)
        asks = []
        for number in range(days):
            day = start + dt.timedelta(days=number)
            for family in families:
                family.arrive(day)
                asks.append((family, day))
        self.rng.shuffle(asks)
        before = self._statistics()
        for number, (family, day) in enumerate(asks):
            self.now = dt.datetime(2026, 5, 1, tzinfo=dt.UTC) + dt.timedelta(hours=number)
            self._rest()
            self._ask(family.ask(day), Told(), number)
        after = self._statistics()
        ahead = after.seconds_ahead - before.seconds_ahead
        return ahead / (ahead + after.seconds_computed - before.seconds_computed)

    _given_up = 0

    def _statistics(self) -> CacheStatistics:
        assert self.store.cache is not None
        return self.store.cache.results.statistics()

    def _rest(self) -> None:
        """The service has time."""
        cache = self.store.cache
        assert cache is not None
        assert cache.asked is not None
        cache.asked.flush()
        before = self._statistics().wasted_bytes
        self.ahead.step()
        self._given_up += self._statistics().wasted_bytes - before

    def _ask(self, query: hr.Query, told: Told, number: int) -> None:
        before = self._statistics()
        query.read().to_arrow()
        self._settle()
        after = self._statistics()
        told.asks += 1
        if after.hits_ahead > before.hits_ahead:
            told.predicted += 1
        else:
            told.missed.append(number)

    def _settle(self) -> None:
        """What was computed is kept a moment later."""
        cache = self.store.cache
        assert cache is not None
        while cache.flights.number:
            time.sleep(0.001)


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(10**6)
    console = Console()
    shown = Table(
        "family",
        "first asks",
        "predicted",
        "missed on day",
        "computed ahead",
        "of it unused",
        title=f"seed {seed}",
    )
    with tempfile.TemporaryDirectory() as folder, Replay(Path(folder) / "lake", seed) as replay:
        for kind in FAMILIES:
            told = replay.family(kind, DAYS)
            shown.add_row(
                kind.title,
                str(told.asks),
                f"{told.share:.0%}",
                str(told.missed[:9]),
                f"{told.made_bytes / 1e6:,.1f} MB",
                f"{told.unused:.0%}",
            )
        share = replay.shuffled(DAYS)
    console.print(shown)
    console.print(f"all of it shuffled: {share:.1%} of the time for joins is spent ahead")


if __name__ == "__main__":
    main()
