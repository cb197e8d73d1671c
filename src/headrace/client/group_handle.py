"""What a user's handle of a feature group knows of it."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from headrace.backend import Backend
from headrace.errors import UnknownColumn
from headrace.model.definition import Group
from headrace.model.duration import UNLIMITED
from headrace.model.expression import Column, Ref


class GroupHandle:
    """The definition of a feature group, and its columns, which are asked for anew: others may add some."""

    def __init__(self, backend: Backend, group: Group) -> None:
        self._backend = backend
        self._group = group

    @property
    def name(self) -> str:
        """Its name."""
        return self._group.definition.name

    @property
    def version(self) -> int:
        """Its version."""
        return self._group.definition.version

    @property
    def schema(self) -> pa.Schema | None:
        """The columns; None before the first insert, which sets them."""
        return self._refresh().schema

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns that name the entity."""
        return self._group.definition.primary_key

    @property
    def event_time(self) -> str | None:
        """The column that says from when on a row is true, if there is one."""
        return self._group.definition.event_time

    @property
    def created_time(self) -> str | None:
        """The column that says when a row was recorded, if there is one."""
        return self._group.definition.created_time

    @property
    def ttl(self) -> timedelta | None:
        """The age beyond which a row is not used; None is unlimited."""
        micros = self._group.definition.ttl
        return None if micros is None or micros == UNLIMITED else timedelta(microseconds=micros)

    @property
    def freshness(self) -> timedelta | None:
        """Of a group in another database: the age up to which its rows may be given again; None is not at all."""
        external = self._group.definition.external
        micros = None if external is None else external.freshness
        return None if micros is None else timedelta(microseconds=micros)

    @property
    def min_age(self) -> timedelta | None:
        """The age below which a row is not yet used, if one was declared."""
        micros = self._group.definition.min_age
        return None if micros is None else timedelta(microseconds=micros)

    @property
    def tie_breaker(self) -> str | None:
        """The column whose largest value wins among rows alike in key and times, if there is one."""
        return self._group.definition.tie_breaker

    @property
    def event_time_unit(self) -> str | None:
        """What whole numbers in its event time count since 1970, if it was declared: "s", "ms", "us" or "ns"."""
        return self._group.definition.event_time_unit

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns by which its files are laid out."""
        return self._group.definition.partition_by

    @property
    def change_feed(self) -> bool:
        """Whether it keeps what each commit changed."""
        return self._group.definition.change_feed

    @property
    def location(self) -> str:
        """Where its rows lie: a path on the machine that holds the store, a URI, or a table of another database."""
        return self._group.definition.location

    @property
    def format(self) -> str:
        """Of its table."""
        return self._group.definition.format

    @property
    def tags(self) -> dict[str, str]:
        """A copy of its tags."""
        return dict(self._group.definition.tags)

    @property
    def description(self) -> str:
        """What it was declared to hold."""
        return self._group.definition.description

    def __getitem__(self, name: str) -> Column:
        schema = self._current().schema
        if schema is not None and name not in schema.names:
            schema = self._refresh().schema  # it may have been added since
        if schema is not None and name not in schema.names:
            raise UnknownColumn(
                f"feature group {self._ref} has no column {name!r}",
                hint=f"it has {', '.join(schema.names[:20])}",
            )
        return Column(Ref(name, self._ref))

    def __getattr__(self, name: str) -> Column:
        if not name.startswith("_"):
            schema = self._refresh().schema
            if schema is not None and name in schema.names:
                return self[name]
            columns = f"its columns are {', '.join(schema.names[:20])}" if schema else "it has no columns yet"
            raise AttributeError(f"{type(self).__name__} has no attribute or column {name!r}; {columns}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def _ref(self) -> str:
        return self._group.definition.ref

    def _refresh(self) -> Group:
        self._group = self._backend.get_group(self.name, self.version)
        return self._group

    def _current(self) -> Group:
        """The group, asked for again while it has no schema: somebody else may have inserted first."""
        return self._refresh() if self._group.schema is None else self._group
