"""A small real model: arrival delays from what was known at departure, beside two naive answers."""

from __future__ import annotations

import calendar
import dataclasses

import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from headrace.demo.data import NEW_YORK
from headrace.demo.report import MeanError

TEST_START = pd.Timestamp("2013-10-01", tz=NEW_YORK)
"""The model learns from the flights before, and answers those after."""

_CATEGORIES = ["carrier", "origin", "dest"]
_NOT_FEATURES = ["flight_id", "sched_dep", "arr_delay", "wx_observed_at", "prev_landed_at"]


@dataclasses.dataclass(frozen=True)
class Answers:
    """Flights from `TEST_START` on: when, how late they were, and how late each answer says; minutes."""

    sched_dep: pd.Series
    arr_delay: pd.Series
    model: pd.Series
    median: pd.Series
    last_leg: pd.Series

    def errors(self) -> list[MeanError]:
        """Mean absolute errors by month, then over all."""
        month = self.sched_dep.dt.tz_convert(NEW_YORK).dt.month
        found = [
            self._error(calendar.month_name[number], month == number) for number in sorted(month.unique())
        ]
        return [*found, self._error(None, month.notna())]

    def _error(self, month: str | None, rows: pd.Series) -> MeanError:
        truth = self.arr_delay[rows]
        means = [
            float((answer[rows] - truth).abs().mean()) for answer in (self.model, self.median, self.last_leg)
        ]
        return MeanError(month, len(truth), *means)


def train_and_test(training: pd.DataFrame) -> Answers:
    """Train on flights before `TEST_START`, answer those after it; what did not arrive is left out."""
    arrived = training[training["arr_delay"].notna()]
    features = _features(arrived)
    train = arrived["sched_dep"] < TEST_START
    label = arrived["arr_delay"]
    model = HistGradientBoostingRegressor(
        loss="absolute_error", max_iter=60, categorical_features="from_dtype", random_state=0
    )
    # OpenMP's threads wait for each other by spinning: where processors are shared, one is ten times faster.
    with threadpool_limits(1, user_api="openmp"):
        model.fit(features[train], label[train])

    test = arrived[~train]
    median = float(label[train].median())
    return Answers(
        sched_dep=test["sched_dep"],
        arr_delay=test["arr_delay"],
        model=pd.Series(model.predict(features[~train]), index=test.index),
        median=pd.Series(median, index=test.index),
        last_leg=test["prev_arr_delay"].fillna(median),
    )


def _features(rows: pd.DataFrame) -> pd.DataFrame:
    since_landing = (rows["sched_dep"] - rows["prev_landed_at"]).dt.total_seconds() / 3600
    features = rows.drop(columns=_NOT_FEATURES).assign(prev_hours=since_landing)
    return features.astype(dict.fromkeys(_CATEGORIES, "category"))
