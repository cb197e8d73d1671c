"""The feature groups of a project: each definition with its table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from headrace.errors import (
    CorruptTable,
    HeadraceError,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    Unavailable,
    Unsupported,
)
from headrace.formats.delta import DeltaLog
from headrace.formats.table import Table
from headrace.model.definition import Group, GroupDefinition, check_definition, read_schema, write_schema
from headrace.model.name import parse_reference
from headrace.model.search import mentions, told_texts
from headrace.service.adoption import adopted, check_fits
from headrace.service.definitions import Definitions
from headrace.service.ingest import declared_schema
from headrace.service.narrowed import NarrowedTable
from headrace.storage.base import new_location

if TYPE_CHECKING:
    from headrace.service.store import Store

NOT_TOLD = "…"
"""In place of what the caller may not see."""


class Groups:
    """Those of one project, as far as one caller sees them."""

    def __init__(self, store: Store, project: str, definitions: Definitions) -> None:
        self._store = store
        self._project = project
        self._definitions = definitions

    def create(self, definition: GroupDefinition, schema: pa.Schema | None) -> Group:
        check_definition(definition)
        self._definitions.require("writer", f"make feature group {definition.name}")
        stored = None if schema is None else declared_schema(definition, schema)
        location = new_location(self._project, definition.name)
        definition = msgspec.structs.replace(
            definition,
            location=location,
            started=stored is not None,
            adopted=False,
            format="delta",
            external=None,
        )
        try:
            if stored is not None:
                # Before its group, so that nobody finds a group without the schema that it was declared with.
                table = self._store.table(definition)
                assert isinstance(table, DeltaLog)
                table.writer.create(stored, definition.partition_by, definition.change_feed)
            made = self._definitions.create_group(definition)
        except OutcomeUnknown:
            raise
        except HeadraceError:
            self.remove(definition)
            raise
        return self._with_schema(made)

    def register(self, definition: GroupDefinition) -> Group:
        """A group of a table that others made."""
        check_definition(definition)
        self._definitions.require("admin", "register tables of others")
        if definition.external is None:
            location = self._store.storage.given_location(definition.location)
        else:  # which names it, and is no place
            location = new_location(self._project, definition.name)
        definition = msgspec.structs.replace(definition, location=location)
        definition = adopted(definition, self._store.table(definition))
        made = self._definitions.create_group(definition)
        if definition.external is not None:  # its table names the group, and had no version of it yet
            self._store.forget(definition)
        return self._with_schema(made)

    def get(self, name: str, version: int | None) -> Group:
        return self._with_schema(self._definitions.get_group(name, version))

    def matching(self, name: str | None, tags: dict[str, str], search: str | None = None) -> list[Group]:
        found = map(self._listed, self._definitions.list_groups(name, tags))
        return [group for group in found if group is not None and mentions(search, _texts(group))]

    def delete(self, name: str, version: int, force: bool) -> None:
        self.remove(self._definitions.delete_group(name, version, force))

    def set_tags(self, name: str, version: int, tags: dict[str, str | None]) -> Group:
        return self._with_schema(self._definitions.set_group_tags(name, version, tags))

    def fitting(self, ref: str) -> Group:
        """The group, to be used. Raises SchemaMismatch if its table no longer does for it."""
        group = self.get(*parse_reference(ref))
        if group.schema is not None:
            check_fits(group.definition, group.schema, group.definition.location)
        return group

    def table(self, name: str, version: int | None) -> tuple[GroupDefinition, Table]:
        definition = self._definitions.get_group(name, version)
        return definition, self._seen(definition)

    def written(self, ref: str) -> tuple[GroupDefinition, DeltaLog]:
        """A group that is written to, and its table. Raises Unsupported, PermissionDenied."""
        definition, table = self.table(*parse_reference(ref))
        self._definitions.require("writer", f"write to feature group {definition.name}", definition.name)
        if not isinstance(table, DeltaLog):
            raise Unsupported(
                f"{definition.ref} is a {table.label}, which is read and not written",
                hint="write to it with what made it, or insert its rows into a feature group of Headrace",
            )
        return definition, table

    def keep_in_mind(self, definition: GroupDefinition, table: Table) -> None:
        """That the group has a table now; where that fails, whoever meets it next does it."""
        if table.started and not definition.started:
            with contextlib.suppress(HeadraceError):
                self._definitions.start_group(definition)

    def remove(self, definition: GroupDefinition) -> None:
        """What is stored of a group that is in the registry no more."""
        self._store.forget(definition)
        if not definition.adopted:
            self._store.storage.remove(definition.location)

    @contextlib.contextmanager
    def used(self, definitions: Iterable[GroupDefinition]) -> Iterator[None]:
        """A table that is not as it should be may be one that was deleted since."""
        try:
            yield
        except (CorruptTable, Unavailable):
            deleted = self.deleted(definitions)
            if deleted is not None:
                raise deleted from None
            raise

    def deleted(self, definitions: Iterable[GroupDefinition]) -> NotFound | None:
        """The error to raise if one of the groups was deleted since: what its files do then tells nothing."""
        for was in definitions:
            try:
                there = self.table(was.name, was.version)[0].location == was.location
            except NotFound:
                there = False
            except HeadraceError:
                continue  # the registry does not tell
            if not there:
                return NotFound(f"feature group {was.ref} was deleted meanwhile")
        return None

    def _seen(self, definition: GroupDefinition) -> Table:
        """The group's table, with the columns that the caller sees."""
        table, columns = self._store.table(definition), self._definitions.rights.columns_of(definition.name)
        return table if columns is None else NarrowedTable(table, columns | {*definition.declared})

    def _with_schema(self, definition: GroupDefinition) -> Group:
        table = self._seen(definition)
        with self.used([definition]):
            newest = table.newest()
        self.keep_in_mind(definition, table)
        if newest is None:
            return Group(self._told(definition, table), None)
        if definition.adopted:  # its owners may have set it since
            definition = msgspec.structs.replace(definition, change_feed=newest.keeps_changes)
        return Group(self._told(definition, table), newest.schema)

    def _listed(self, definition: GroupDefinition) -> Group | None:
        """The group, without a schema if its table cannot be read: a broken one hides no others.

        None if it was deleted meanwhile.
        """
        try:
            return self._with_schema(definition)
        except NotFound:
            if definition.external is not None:  # its table, which is for its database to say
                return Group(self._told(definition, None), None)
            return None
        except (CorruptTable, PermissionDenied, Unsupported):
            return Group(self._told(definition, self._store.table(definition)), None)
        except HeadraceError:
            # That of others may be in a storage that cannot be reached from here, or not as it was.
            if not definition.adopted:
                raise
            return Group(self._told(definition, None), None)

    def _told(self, definition: GroupDefinition, table: Table | None) -> GroupDefinition:
        """The definition with where its table lies in full; without the table, as far as it tells by itself.

        Who sees some columns alone is told of no others.
        """
        shown = definition.location if table is None else table.table.shown
        external, types = definition.external, definition.types_ipc
        columns = self._definitions.rights.columns_of(definition.name)
        if external is not None:
            shown = external.shown
        if columns is not None:
            if external is not None and external.query is not None:
                external = msgspec.structs.replace(external, query=NOT_TOLD)
            if types is not None:
                seen = columns | {*definition.declared}
                types = write_schema(pa.schema([f for f in read_schema(types) if f.name in seen]))
        return msgspec.structs.replace(definition, location=shown, external=external, types_ipc=types)


def _texts(group: Group) -> list[str]:
    told = group.definition
    columns = () if group.schema is None else group.schema.names
    return [*told_texts(told.name, told.description, told.tags), *columns]
