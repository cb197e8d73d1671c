"""A feature group in the hands of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import pyarrow as pa

from headrace.client.frame import Frame, to_reader, to_table
from headrace.client.group_handle import GroupHandle
from headrace.client.query import On, Query, check_limit, check_names, check_snapshot, column_names, pin
from headrace.client.result import Result, prepare
from headrace.client.warning import warn
from headrace.errors import InvalidArgument, UnknownColumn
from headrace.model.definition import Commit
from headrace.model.detail import TableDetail
from headrace.model.duration import Duration, Time
from headrace.model.expression import Column, Condition
from headrace.model.feed import FEED_FIELDS
from headrace.model.name import check_tags
from headrace.model.query import How, Select, Source
from headrace.model.query import Query as QueryModel
from headrace.model.request import ReadRequest
from headrace.model.text import check_text
from headrace.model.write_key import check_write_key, passing_key
from headrace.protocol import InsertMode


class FeatureGroup(GroupHandle):
    """A stored, versioned table. The handle holds no rows: each read sees the newest commit.

    `group["column"]` is a column for filters; `group.column` too, where no method has that name.
    """

    def insert(
        self,
        data: Frame,
        *,
        mode: InsertMode = "upsert",
        filter: Column | None = None,  # noqa: A002
        idempotency_key: str | None = None,
    ) -> Commit:
        """Write rows in one commit, or nothing.

        Args:
            data: any frame; a reader is streamed.
            mode: "upsert" replaces rows with the same primary key and event time; "append" keeps both;
                "overwrite" replaces all rows. A frame without rows commits nothing, whatever the mode.
            filter: overwrite only the rows for which it is true, which it must be for those of `data`, too. Here a
                frame without rows deletes.
            idempotency_key: names the write, so that running it again changes nothing.

        Raises:
            SchemaMismatch, NullKeys, DuplicateKeys, BadData: `details["problems"]` names every problem.
            Conflict: others kept writing; try again.
            OutcomeUnknown: try again with the same `idempotency_key`.
        """
        if mode not in get_args(InsertMode):
            raise InvalidArgument(f"mode={mode!r} is refused", hint='use "upsert", "append" or "overwrite"')
        if filter is not None and mode != "overwrite":
            raise InvalidArgument("filter limits what is overwritten", hint='give mode="overwrite", too')
        condition = None if filter is None else self._condition(filter)
        key = _write_key(idempotency_key)
        unknown = self._group.schema is None
        commit = self._backend.insert(self._ref, to_reader(data), mode, condition, key)
        if unknown:
            self._warn_of_dates()
        return commit

    def delete(
        self,
        *,
        keys: Frame | None = None,
        filter: Column | None = None,  # noqa: A002
        idempotency_key: str | None = None,
    ) -> Commit:
        """Delete rows: those with these keys, or those for which the filter is true.

        Args:
            keys: a frame with the primary key, and the event time where one row of a key is meant.
            filter: a condition on columns of the group; null is not true.
            idempotency_key: names the write, so that running it again changes nothing.

        Raises:
            UnknownColumn, InvalidArgument, SchemaMismatch.
            Conflict: others kept writing; try again.
            OutcomeUnknown: try again with the same `idempotency_key`.
        """
        if (keys is None) == (filter is None):
            raise InvalidArgument("delete takes keys or a filter: exactly one of them")
        condition = None if filter is None else self._condition(filter)
        table = None if keys is None else to_table(keys)
        key = _write_key(idempotency_key)
        return self._backend.delete_rows(self._ref, table, condition, key)

    def read(
        self,
        columns: Sequence[str] | None = None,
        filter: Column | None = None,  # noqa: A002
        *,
        snapshot: int | None = None,
        timestamp: Time | None = None,
        latest: bool = False,
        limit: int | None = None,
    ) -> Result:
        """The rows, lazily.

        Args:
            columns: all if None.
            filter: keeps rows for which it is true.
            snapshot, timestamp: the table as it was then; at most one of them.
            latest: of the rows kept, the newest of each key.
            limit: at most so many rows, whichever come first.

        Raises:
            UnknownColumn, InvalidArgument, SnapshotNotFound.
        """
        names = None if columns is None else column_names(columns)
        query = self._query() if names is None else self.select(*names)
        if filter is not None:
            query = query.filter(filter)
        if snapshot is not None or timestamp is not None:
            pin("read", snapshot, timestamp)
            query = query.as_of(snapshot=snapshot, timestamp=timestamp)
        request = ReadRequest(
            kind="query",
            query=query._model,
            latest=latest,
            limit=None if limit is None else check_limit(limit),
        )
        return prepare(self._backend, request, None)

    def select(self, *columns: str) -> Query:
        """A query on these columns; without arguments, on all.

        Where it is joined to another, all are all features: no keys, times or partitions.
        """
        names = check_names(columns)
        if not names:
            return self._query()
        return self._query(Select(names))

    def filter(self, condition: Column) -> Query:
        """A query on the rows for which the condition is true."""
        return self._query().filter(condition)

    def with_columns(self, **formulas: str) -> Query:
        """See `Query.with_columns`."""
        return self._query().with_columns(**formulas)

    def join(
        self,
        other: FeatureGroup | Query,
        *,
        on: On | None = None,
        how: How = "left",
        prefix: str = "",
        max_age: Duration | None = None,
        min_age: Duration | None = None,
        point_in_time: bool | None = None,
    ) -> Query:
        """See `Query.join`."""
        return self._query().join(
            other,
            on=on,
            how=how,
            prefix=prefix,
            max_age=max_age,
            min_age=min_age,
            point_in_time=point_in_time,
        )

    def as_of(self, *, snapshot: int | None = None, timestamp: Time | None = None) -> Query:
        """A query on the table as it was."""
        pin("as_of", snapshot, timestamp)
        return self._query().as_of(snapshot=snapshot, timestamp=timestamp)

    def detail(self) -> TableDetail:
        """How it is stored: rows, files, bytes, and whether `compact` would do it good (`needs_compaction`)."""
        return self._backend.detail(self._ref)

    def history(self, limit: int | None = None) -> list[Commit]:
        """The commits, newest first."""
        return self._backend.history(self._ref, None if limit is None else check_limit(limit))

    def restore(
        self,
        snapshot: int | None = None,
        *,
        timestamp: Time | None = None,
        idempotency_key: str | None = None,
    ) -> Commit:
        """Make the table what it was, in a new commit: what came after stays in the history.

        Args:
            snapshot, timestamp: as it was then; exactly one of them.
            idempotency_key: names the write, so that running it again changes nothing.

        Raises:
            SnapshotNotFound: there is no such snapshot, or not all of its files any more.
            Conflict: others kept writing; try again.
            OutcomeUnknown: try again with the same `idempotency_key`.
        """
        pin("restore", snapshot, timestamp)
        if snapshot is None:
            snapshot = self.as_of(timestamp=timestamp).read().snapshots[self._ref]
        return self._backend.restore(self._ref, snapshot, _write_key(idempotency_key))

    def add_features(
        self, features: Mapping[str, pa.DataType], *, idempotency_key: str | None = None
    ) -> Commit:
        """Add columns, and widen the types of columns that are there, in one commit.

        A new column is null in every row and snapshot before. From then on inserts bring it. A wider type holds every
        value of the old one, and has all files written anew.

        Args:
            features: such as `{"humidity": pa.float64()}`.
            idempotency_key: names the write, so that running it again changes nothing.

        Raises:
            SchemaMismatch: a type that cannot be stored, or is not wider. InvalidName, NameClash.
            Conflict: others kept writing; try again.
            OutcomeUnknown: try again with the same `idempotency_key`.
        """
        wanted = _wanted(features)
        commit = self._backend.add_features(self._ref, wanted, _write_key(idempotency_key))
        self._refresh()
        return commit

    def statistics(self, columns: Sequence[str] | None = None, *, snapshot: int | None = None) -> Result:
        """What there is to tell of the values of each feature: a row a feature.

        The rows have `feature`, `type`, `count` (values that are not null), `nulls`, `nans`, `distinct`, `min`, `max`,
        `mean`, `stddev` (of a sample), the quantiles `p05` to `p95`, and a `histogram` of bins from `low` to `high`, or
        of the most frequent values; `approximate` names the figures that are not exact. Mean, deviation, quantiles and
        histogram are of finite numbers. It is computed when it is first read, and kept for the snapshot.

        Args:
            columns: all if None.
            snapshot: the table as it was then; None is the newest.

        Raises:
            UnknownColumn, SnapshotNotFound; InvalidArgument: there are no rows yet.
        """
        query = self._query() if columns is None else self.select(*column_names(columns))
        if snapshot is not None:
            query = query.as_of(snapshot=snapshot)
        return prepare(self._backend, ReadRequest(kind="query", query=query._model, statistics=True), None)

    def compact(self, *, zorder: Sequence[str] = ()) -> Commit:
        """Put the rows of small files into large ones, in a commit that changes no row; none where there are none.

        Args:
            zorder: columns: rows alike in them come into the same files, so that filters on them read fewer.

        Raises:
            UnknownColumn, InvalidArgument. Conflict: others kept changing the files; try again.
        """
        if isinstance(zorder, str) or not isinstance(zorder, Sequence):
            raise InvalidArgument(
                f"zorder takes several names, not {zorder!r}", hint="put the name into a list"
            )
        return self._backend.compact(self._ref, check_names(zorder))

    def vacuum(self, *, retention_hours: int = 168, dry_run: bool = True) -> list[str]:
        """Remove the files that no snapshot of the last hours needs, and give their paths in the table's folder.

        Older snapshots can then no longer be read, restored, or followed by `changes`. What a reader or a writer has
        begun to use stays as long as it takes less than these hours.

        Args:
            retention_hours: how many hours back snapshots stay whole.
            dry_run: remove nothing, and only tell.

        Raises:
            InvalidArgument, PermissionDenied; Unsupported: the group's table is read alone.
        """
        if not isinstance(retention_hours, int) or isinstance(retention_hours, bool) or retention_hours < 0:
            raise InvalidArgument(f"retention_hours={retention_hours!r} is no whole number of hours")
        if not isinstance(dry_run, bool):
            raise InvalidArgument(f"dry_run={dry_run!r} is neither True nor False")
        return self._backend.vacuum(self._ref, retention_hours, dry_run)

    def changes(
        self, since: int, until: int | None = None, *, columns: Sequence[str] | None = None
    ) -> Result:
        """The rows that the commits after a snapshot inserted, updated and deleted, in the order of the commits.

        Beside the columns each row has `_change_type` (`insert`, `delete`, `update_preimage`, `update_postimage`),
        `_commit_version` and `_commit_timestamp`. The result's `snapshots` tell what to pass as `since` next time.

        Args:
            since: the last snapshot seen; -1 before the first.
            until: the last snapshot to tell of; None is the newest.
            columns: all if None.

        Raises:
            SnapshotNotFound: a commit, or its files, are no longer there. Unsupported: the group keeps no change feed.
        """
        steps = () if columns is None else (Select((*column_names(columns), *(f.name for f in FEED_FIELDS))),)
        last = None if until is None else check_snapshot(until)
        source = Source(self._ref, snapshot=last, since=check_snapshot(since, least=-1))
        return prepare(self._backend, ReadRequest(kind="query", query=QueryModel(source, steps)), None)

    def set_tags(self, tags: Mapping[str, str | None]) -> None:
        """Set tags; None removes one."""
        check_tags({name: "" if value is None else value for name, value in dict(tags).items()})
        self._group = self._backend.set_group_tags(self.name, self.version, dict(tags))

    def _condition(self, given: Column) -> Condition:
        """A filter that chooses rows to change, checked as one that chooses rows to read.

        It goes as it was given: fitted to types that a column had when this handle was made, it would choose other rows
        of a column that is wider by now.
        """
        if not isinstance(given, Column):
            raise InvalidArgument(
                f"filter takes a condition, not {given!r}", hint='such as group["column"] > 0'
            )
        return self.select().filter(given)._resolved.root.filters[0].given

    def _query(self, *steps: Select) -> Query:
        model, known = QueryModel(Source(self._ref), steps), self._current()
        try:
            return Query(self._backend, model, {self._ref: known})
        except UnknownColumn:  # it may have been added since
            return Query(self._backend, model, {self._ref: self._refresh()})

    def _warn_of_dates(self) -> None:
        schema, time = self.schema, self.event_time
        if schema is None or time is None or self._group.definition.min_age is not None:
            return
        if pa.types.is_date(schema.field(time).type):
            warn(
                f"{self._ref}: event time {time!r} is a date, which counts from its first moment: rows that sum up "
                'the day leak it. Create the group with min_age="1d" if they do, min_age="0s" if not.'
            )

    def __repr__(self) -> str:
        time = f", event_time={self.event_time!r}" if self.event_time else ""
        return f"FeatureGroup({self._ref}, primary_key={list(self.primary_key)}{time})"


def _wanted(features: Mapping[str, pa.DataType]) -> pa.Schema:
    if not isinstance(features, Mapping) or not features:
        raise InvalidArgument(
            f"features={features!r} is refused", hint='types by name, such as {"humidity": pa.float64()}'
        )
    for name, kind in features.items():
        check_text("feature", name)
        if not isinstance(kind, pa.DataType):
            raise InvalidArgument(
                f"{name}={kind!r} is no Arrow type", hint="such as pa.float64() or pa.string()"
            )
    return pa.schema(list(features.items()))


def _write_key(given: str | None) -> str:
    return passing_key() if given is None else check_write_key(given)


def is_adopted(group: FeatureGroup) -> bool:
    """Whether its table was there before it, and stays after it."""
    return group._group.definition.adopted


def listed_schema(group: FeatureGroup) -> pa.Schema | None:
    """The columns as they were when it was listed; None also if its table could not be read then."""
    return group._group.schema
