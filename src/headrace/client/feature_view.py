"""A feature view in the hands of a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from headrace.backend import Backend
from headrace.client.declaring import check_version, maybe_version
from headrace.client.feature_group import FeatureGroup
from headrace.client.frame import Frame, to_spine
from headrace.client.options import EngineName, KnownAt, point_in_time
from headrace.client.query import Query
from headrace.client.result import Result, prepare
from headrace.client.split import parts, split, splits_of
from headrace.client.training_dataset import TrainingDataset
from headrace.errors import InvalidArgument
from headrace.model.dataset import DatasetDefinition, DatasetFormat
from headrace.model.definition import ViewDefinition
from headrace.model.duration import Duration, Time
from headrace.model.name import check_tags, parse_reference
from headrace.model.query import groups_of
from headrace.model.request import PointInTime, ReadRequest
from headrace.model.text import check_text
from headrace.model.write_key import passing_key


class FeatureView:
    """A named, versioned query with labels: training data and batch data come from the same definition.

    The point-in-time options of its methods:
        start, end: bound the event time of the spine's rows, `[start, end)`; never the features.
        spine: rows to enrich instead of the root group's; each gives exactly one row, in the same order, unless
            the view itself drops it. Root columns that it lacks are looked up by key; its other columns
            pass through.
        event_time: the spine's time column, where it has another name than the root's.
        as_of: every table as committed by then, unless the query pins it.
        known_at: only feature rows recorded (`created_time`) by then, or by each row's "event_time".
        max_age, min_age: beat those of joins and groups.
        engine: "duckdb", "spark", or "auto", which is what None means: see `headrace.connect`.

    They raise Leakage, AmbiguousRows, UnknownColumn, KeyMismatch, SchemaMismatch, SnapshotNotFound, InvalidArgument and
    Unsupported; rows are read, and what is wrong with them is found, when the result is.
    """

    def __init__(self, backend: Backend, definition: ViewDefinition) -> None:
        self._backend = backend
        self._definition = definition

    @property
    def name(self) -> str:
        """Its name."""
        return self._definition.name

    @property
    def version(self) -> int:
        """Its version."""
        return self._definition.version

    @property
    def labels(self) -> tuple[str, ...]:
        """The label columns."""
        return self._definition.labels

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are no labels, in order."""
        return tuple(f.name for f in self.query._resolved.fields if f.name not in self.labels)

    @property
    def query(self) -> Query:
        """The query that the view names, on the groups as they are now."""
        groups = {
            ref: self._backend.get_group(*parse_reference(ref)) for ref in groups_of(self._definition.query)
        }
        return Query(self._backend, self._definition.query, groups)

    @property
    def tags(self) -> dict[str, str]:
        """A copy of its tags."""
        return dict(self._definition.tags)

    @property
    def description(self) -> str:
        """What it was declared to hold."""
        return self._definition.description

    def training_data(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        spine: Frame | None = None,
        event_time: str | None = None,
        as_of: Time | None = None,
        known_at: KnownAt = None,
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        engine: EngineName | None = None,
    ) -> Result:
        """Features and labels, each row as it was known at its event time; snapshots are fixed here."""
        options = point_in_time(
            start=start,
            end=end,
            event_time=event_time,
            as_of=as_of,
            known_at=known_at,
            max_age=max_age,
            min_age=min_age,
            engine=engine,
        )
        return self._result("training", options, spine)

    def batch_data(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        spine: Frame | None = None,
        event_time: str | None = None,
        as_of: Time | None = None,
        known_at: KnownAt = None,
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        engine: EngineName | None = None,
    ) -> Result:
        """Features without labels, for predictions. Rows without an event time have the time of this call."""
        options = point_in_time(
            start=start,
            end=end,
            event_time=event_time,
            as_of=as_of,
            known_at=known_at,
            max_age=max_age,
            min_age=min_age,
            engine=engine,
        )
        return self._result("batch", options, spine)

    def train_test_split(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        spine: Frame | None = None,
        event_time: str | None = None,
        as_of: Time | None = None,
        known_at: KnownAt = None,
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        engine: EngineName | None = None,
        test_size: float | None = None,
        test_start: Time | None = None,
        seed: int = 0,
        stratify: str | None = None,
    ) -> tuple[Result, Result]:
        """Training data in two parts, of the same snapshots: to train with, and to test.

        Args:
            test_size: the part of the rows to test with, such as 0.2. The same `seed` draws the same rows.
            test_start: instead, test with the rows from that event time on.
            stratify: a column, of whose values each part has about as large a share.
        """
        options = point_in_time(
            start=start,
            end=end,
            event_time=event_time,
            as_of=as_of,
            known_at=known_at,
            max_age=max_age,
            min_age=min_age,
            engine=engine,
        )
        train, test = self._split(
            options, spine, {"test_size": test_size}, {"test_start": test_start}, seed, stratify
        )
        return train, test

    def train_validation_test_split(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        spine: Frame | None = None,
        event_time: str | None = None,
        as_of: Time | None = None,
        known_at: KnownAt = None,
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        engine: EngineName | None = None,
        validation_size: float | None = None,
        test_size: float | None = None,
        validation_start: Time | None = None,
        test_start: Time | None = None,
        seed: int = 0,
        stratify: str | None = None,
    ) -> tuple[Result, Result, Result]:
        """Training data in three parts; see `train_test_split`. By time, validation comes before the test."""
        options = point_in_time(
            start=start,
            end=end,
            event_time=event_time,
            as_of=as_of,
            known_at=known_at,
            max_age=max_age,
            min_age=min_age,
            engine=engine,
        )
        sizes = {"validation_size": validation_size, "test_size": test_size}
        starts = {"validation_start": validation_start, "test_start": test_start}
        train, validation, test = self._split(options, spine, sizes, starts, seed, stratify)
        return train, validation, test

    def create_training_dataset(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        spine: Frame | None = None,
        event_time: str | None = None,
        as_of: Time | None = None,
        known_at: KnownAt = None,
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        engine: EngineName | None = None,
        splits: Mapping[str, float] | Mapping[str, tuple[Time | None, Time | None]] | None = None,
        seed: int = 0,
        stratify: str | None = None,
        format: DatasetFormat = "parquet",  # noqa: A002
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> TrainingDataset:
        """Store training data: rows that read back the same after the tables have moved on, and can be recomputed.

        Its rows come by event time, primary key, and then the other columns. Dictionaries are stored as their values.

        Args:
            splits: parts by name, all fractions, such as `{"train": 0.8, "test": 0.2}`, which `seed` draws and
                `stratify` draws from each value of a column; or all times, `[start, end)`. None is one, "all".
            format: "arrow" is read by memory map on the same machine.

        Raises:
            InvalidArgument: splits that share rows, or do not add up. Unsupported: a column that the format does
            not keep. LimitExceeded, Conflict, OutcomeUnknown.
        """
        options = point_in_time(
            start=start,
            end=end,
            event_time=event_time,
            as_of=as_of,
            known_at=known_at,
            max_age=max_age,
            min_age=min_age,
            engine=engine,
        )
        table, schema = to_spine(spine)
        asked = DatasetDefinition(
            name=self._definition.ref,
            version=0,
            request=self._request("training", options, schema),
            splits=splits_of(splits, seed, stratify),
            format=_checked(format),
            key=passing_key(),
            description=check_text("description", description),
            tags=check_tags(tags),
        )
        return TrainingDataset(self._backend, self._backend.create_dataset(asked, table))

    def get_training_dataset(self, version: int | None = None) -> TrainingDataset:
        """The newest version if None. Raises NotFound."""
        found = self._backend.get_dataset(self._definition.ref, maybe_version(version))
        return TrainingDataset(self._backend, found)

    def list_training_datasets(self) -> list[TrainingDataset]:
        """All of this version of the view, by version."""
        return [TrainingDataset(self._backend, d) for d in self._backend.list_datasets(self._definition.ref)]

    def delete_training_dataset(self, version: int) -> None:
        """Delete its files, for good; what it needs of the tables may be vacuumed then. Raises NotFound."""
        self._backend.delete_dataset(self._definition.ref, check_version(version))

    def explain(
        self,
        start: Time | None = None,
        end: Time | None = None,
        *,
        spine: Frame | None = None,
        event_time: str | None = None,
        as_of: Time | None = None,
        known_at: KnownAt = None,
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        engine: EngineName | None = None,
    ) -> str:
        """How `training_data` with these options would be run."""
        options = point_in_time(
            start=start,
            end=end,
            event_time=event_time,
            as_of=as_of,
            known_at=known_at,
            max_age=max_age,
            min_age=min_age,
            engine=engine,
        )
        _, schema = to_spine(spine, options.engine)
        return self._backend.explain(self._request("training", options, schema))

    def _split(
        self,
        options: PointInTime,
        spine: Frame | None,
        sizes: dict[str, float | None],
        starts: dict[str, Time | None],
        seed: int,
        stratify: str | None,
    ) -> tuple[Result, ...]:
        table, schema = to_spine(spine, options.engine)
        request = self._request("training", options, schema)
        return split(self._backend, request, table, parts(request, sizes, starts, seed, stratify))

    def _result(
        self, kind: Literal["training", "batch"], options: PointInTime, spine: Frame | None
    ) -> Result:
        table, schema = to_spine(spine, options.engine)
        return prepare(self._backend, self._request(kind, options, schema), table)

    def _request(
        self, kind: Literal["training", "batch"], options: PointInTime, schema: bytes | None
    ) -> ReadRequest:
        return ReadRequest(kind=kind, view=self._definition.ref, point_in_time=options, spine_schema=schema)

    def __repr__(self) -> str:
        return f"FeatureView({self._definition.ref}, labels={list(self.labels)})"


def root_of(view: FeatureView) -> FeatureGroup:
    """The group whose rows the view enriches where no spine is given. Raises NotFound."""
    name, version = parse_reference(view._definition.query.source.group)
    return FeatureGroup(view._backend, view._backend.get_group(name, version))


def _checked(form: DatasetFormat) -> DatasetFormat:
    if form not in get_args(DatasetFormat):
        raise InvalidArgument(
            f"format={form!r} is refused", hint=f"use {' or '.join(get_args(DatasetFormat))}"
        )
    return form
