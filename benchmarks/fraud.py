"""A tutorial from end to end, by a feature store's service and by Spark: is a payment by card a fraud?

Source: "Faster reading from the Lakehouse to Python with DuckDB/ArrowFlight", table 3, of Hopsworks' tutorial of fraud
detection in batches. Payments are made ones; of each card's last four hours stands what was paid, how often and where.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks import data
from benchmarks.checksum import Checksum, checksum
from benchmarks.runner import Stage, Staged
from benchmarks.spark import PYTHON
from benchmarks.spark_plain import plain_session
from benchmarks.target import Served
from benchmarks.workload import Case, Workload

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

_PAYMENTS, _RECENT, _VIEW = "payments", "recent", "frauds"
_LABEL, _KEYS = "is_fraud", ("payment_id", "card", "paid_at")
_FEATURES = {
    _PAYMENTS: ("category", "amount", "age", "card_days_left", "moved_km"),
    _RECENT: ("recent_mean", "recent_deviation", "recent_count", "recent_km"),
}
_NEW = "2026-04-27 00:00:00+00"
"""What is paid from then on is what the model is asked about; it has learned from what was before."""
_CARD_PAYMENTS = 100
_MADE = """
WITH cards AS (
  SELECT i, hash(i, 1) % {cards} AS card, TIMESTAMPTZ '2026-01-01 00:00:00+00'
           + to_microseconds((hash(i, 2) % 10368000000000)::BIGINT) AS paid_at,
         (hash(i, 3) % 1000003) / 1000003.0 AS luck, (hash(i, 4) % 1000003) / 1000003.0 AS chance,
         (hash(i, 5) % 1000003) / 1000003.0 AS noise
  FROM range({rows}) t(i)
), drawn AS (SELECT *, luck < 0.01 AS bad FROM cards)
SELECT i AS payment_id, card::BIGINT AS card, paid_at,
       ['food', 'fuel', 'clothes', 'health', 'travel', 'cash'][IF(bad, 4 + (hash(i, 6) % 3)::INTEGER,
         1 + (hash(i, 6) % 6)::INTEGER)] AS category,
       round(exp(IF(bad, 4.2, 3.2) + 1.1 * (chance + noise - 1)), 2)::DOUBLE AS amount,
       18 + (hash(card, 7) % 65)::INTEGER AS age, (hash(card, 8) % 1500)::INTEGER AS card_days_left,
       round(IF(bad, 40, 4) * -ln(1 - chance), 3)::DOUBLE AS moved_km, bad::INTEGER AS is_fraud
FROM drawn
"""
_AGGREGATED = """
SELECT card, paid_at, avg(amount) OVER hours AS recent_mean,
       coalesce(stddev_samp(amount) OVER hours, 0) AS recent_deviation, count(*) OVER hours AS recent_count,
       avg(moved_km) OVER hours AS recent_km
FROM read_parquet({payments})
WINDOW hours AS (PARTITION BY card ORDER BY paid_at RANGE BETWEEN INTERVAL 4 HOURS PRECEDING AND CURRENT ROW)
"""
_KEPT = """
SELECT {columns} FROM (
  SELECT p.*, {recent}, row_number() OVER (PARTITION BY payment_id ORDER BY r.paid_at DESC) AS nth
  FROM payments p LEFT JOIN recent r ON p.card = r.card AND r.paid_at <= p.paid_at
  WHERE {condition}
) WHERE nth = 1
"""


@dataclasses.dataclass(frozen=True)
class Tables:
    """Parquet files."""

    payments: Path
    recent: Path

    def frames(self) -> dict[str, pd.DataFrame]:
        return {
            name: pq.read_table(path).to_pandas()
            for name, path in ((_PAYMENTS, self.payments), (_RECENT, self.recent))
        }


def columns() -> list[str]:
    return [*_KEYS, *_FEATURES[_PAYMENTS], _LABEL, *_FEATURES[_RECENT]]


def train(rows: pd.DataFrame) -> Any:
    """A classifier of payments."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(max_iter=60, random_state=0, class_weight="balanced")
    with threadpool_limits(1, user_api="openmp"):
        return model.fit(_known(rows), rows[_LABEL].astype("int64"))


def answers(model: Any, rows: pd.DataFrame) -> pa.Table:
    """How sure it is of each that it is a fraud, and whether it is one."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        sure = model.predict_proba(_known(rows))[:, 1]
    return pa.table({"payment_id": rows["payment_id"], "sure": sure, _LABEL: rows[_LABEL]})


def _known(rows: pd.DataFrame) -> pd.DataFrame:
    features = rows[[*_FEATURES[_PAYMENTS], *_FEATURES[_RECENT]]].copy()
    features["category"] = features["category"].astype("str").astype("category")
    return features.astype({name: "float64" for name in features.columns if name != "category"})


def _told(rows: pd.DataFrame) -> Checksum:
    return checksum(pa.Table.from_pandas(rows[columns()], preserve_index=False))


@dataclasses.dataclass(frozen=True)
class Train:
    """The same for all."""

    tables: Tables

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            rows = _joined(connection, self.tables).df()
        old = rows[rows["paid_at"] < _NEW]
        new = rows[rows["paid_at"] >= _NEW]
        yield Staged(lambda _: nullcontext(Stage(lambda: train(old), lambda model: answers(model, new))))


def _joined(connection: duckdb.DuckDBPyConnection, tables: Tables) -> duckdb.DuckDBPyRelation:
    for name, path in ((_PAYMENTS, tables.payments), (_RECENT, tables.recent)):
        connection.execute(f"CREATE VIEW {name} AS FROM read_parquet({data.quoted(path)})")
    return connection.sql(_query())


def _query(condition: str = "true") -> str:
    """Args: condition: on payments, before they are joined: no engine takes it through the window by itself."""
    recent = ", ".join(f"r.{name}" for name in _FEATURES[_RECENT])
    return _KEPT.format(columns=", ".join(columns()), recent=recent, condition=condition)


class Tutorial(Protocol):
    """One way through it, a step after the other. Each keeps what the next begins with."""

    def insert(self) -> None:
        """Two frames of pandas into two new tables."""

    def create(self) -> None:
        """The training dataset, as files."""

    def load(self) -> pd.DataFrame:
        """The dataset."""

    def new(self) -> pd.DataFrame:
        """What the model is asked about."""

    def inserted(self) -> pa.Table:
        """Of one of the tables."""


Anew = Callable[[int], AbstractContextManager[Tutorial]]
"""Begins it once more, where nothing is there yet; takes a number."""


@dataclasses.dataclass(frozen=True)
class OfHeadrace:
    store: hr.FeatureStore
    frames: Mapping[str, pd.DataFrame]

    def insert(self) -> None:
        payments = self.store.create_feature_group(
            _PAYMENTS, primary_key=["payment_id"], event_time="paid_at"
        )
        recent = self.store.create_feature_group(_RECENT, primary_key=["card"], event_time="paid_at")
        for group in (payments, recent):
            group.insert(self.frames[group.name])
        query = payments.select(*_KEYS, *_FEATURES[_PAYMENTS], _LABEL)
        query = query.join(recent.select(*_FEATURES[_RECENT]), on="card")
        self.store.create_feature_view(_VIEW, query, labels=[_LABEL])

    def create(self) -> None:
        self.store.get_feature_view(_VIEW).create_training_dataset(end=_NEW)

    def load(self) -> pd.DataFrame:
        return self.store.get_feature_view(_VIEW).get_training_dataset(1).read().to_pandas("numpy")

    def new(self) -> pd.DataFrame:
        return self.store.get_feature_view(_VIEW).training_data(start=_NEW).to_pandas("numpy")

    def inserted(self) -> pa.Table:
        return self.store.get_feature_group(_RECENT).read().to_arrow()


@dataclasses.dataclass(frozen=True)
class OfSpark:
    session: SparkSession
    folder: Path
    frames: Mapping[str, pd.DataFrame]

    def insert(self) -> None:
        for name, frame in self.frames.items():
            self.session.createDataFrame(frame).write.format("delta").save(str(self.folder / name))

    def create(self) -> None:
        self._joined(f"p.paid_at < TIMESTAMP '{_NEW}'").write.parquet(str(self.folder / "dataset"))

    def load(self) -> pd.DataFrame:
        return self.session.read.parquet(str(self.folder / "dataset")).toPandas()

    def new(self) -> pd.DataFrame:
        return self._joined(f"p.paid_at >= TIMESTAMP '{_NEW}'").toPandas()

    def inserted(self) -> pa.Table:
        return pa.Table.from_pandas(self._table(_RECENT).toPandas(), preserve_index=False)

    def _table(self, name: str) -> DataFrame:
        return self.session.read.format("delta").load(str(self.folder / name))

    def _joined(self, condition: str) -> DataFrame:
        for name in (_PAYMENTS, _RECENT):
            self._table(name).createOrReplaceTempView(name)
        return self.session.sql(_query(condition))


@contextmanager
def by_headrace(tables: Tables) -> Iterator[Anew]:
    """By a service, whose projects are as many stores."""
    frames = tables.frames()
    with tempfile.TemporaryDirectory() as root, Served(Path(root)).listening() as way:

        @contextmanager
        def anew(number: int) -> Iterator[Tutorial]:
            with hr.connect(way.url, project=f"run_{number}") as store:
                yield OfHeadrace(store, frames)

        yield anew


@contextmanager
def by_spark(tables: Tables) -> Iterator[Anew]:
    """In one session."""
    frames = tables.frames()
    arrow = {"spark.sql.execution.arrow.pyspark.enabled": "true"}
    with tempfile.TemporaryDirectory() as root, plain_session(arrow) as session:
        yield lambda number: nullcontext(OfSpark(session, Path(root, str(number)), frames))


_FULL = 1e5
_WARM_UP = 30.0
STEPS = INSERT, CREATE, LOAD, PREDICT = "insert", "create dataset", "load dataset", "predict"


@dataclasses.dataclass(frozen=True)
class Step:
    """One step, timed after those before it."""

    way: Callable[[Tables], AbstractContextManager[Anew]]
    name: str
    tables: Tables

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        with self.way(self.tables) as anew:
            yield Staged(lambda number: self._stage(anew, number))

    @contextmanager
    def _stage(self, anew: Anew, number: int) -> Iterator[Stage]:
        with anew(number) as tutorial:
            if self.name == INSERT:
                yield Stage(tutorial.insert, lambda _: checksum(tutorial.inserted()))
                return
            tutorial.insert()
            if self.name == CREATE:
                yield Stage(tutorial.create, lambda _: _told(tutorial.load()))
                return
            tutorial.create()
            if self.name == LOAD:
                yield Stage(tutorial.load, _told)
                return
            model = train(tutorial.load())
            yield Stage(lambda: _predicted(model, tutorial.new()), _told)


def _predicted(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    answers(model, rows)
    return rows


_WAYS = {"Headrace": (by_headrace, sys.executable, 0.0), "Spark": (by_spark, PYTHON, _WARM_UP)}
"""With their interpreters, and for how many seconds the largest are run before they count."""


def tables_of(count: int) -> Tables:
    payments = data.generated(
        f"payments-{count}", _MADE.format(rows=count, cards=max(1, count // _CARD_PAYMENTS))
    )
    recent = data.generated(f"payments-{count}-recent", _AGGREGATED.format(payments=data.quoted(payments)))
    return Tables(payments, recent)


def _cases(rows: float) -> list[Case]:
    tables = tables_of(int(rows))
    steps = [
        Case(
            f"{step}, {system}",
            Step(way, step, tables),
            answer=step,
            python=python,
            warm_up=warm_up if rows >= _FULL else 0.0,
        )
        for step in STEPS
        for system, (way, python, warm_up) in _WAYS.items()
    ]
    return [*steps, Case("train", Train(tables), answer="train")]


WORKLOADS = (
    Workload(
        name="fraud",
        about="payments into a feature store, a training dataset of them, a model, and its answers; beside Spark",
        sizes={"full": _FULL, "small": 2e4, "smoke": 5e3},
        unit="payments",
        systems=(*(f"{step}, {system}" for step in STEPS for system in _WAYS), "train"),
        goals=(),
        runs=7,
        cases=_cases,
    ),
)
