"""One kind of definition, by project, name and version: what groups, views and training datasets share."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec
from sqlalchemy import Connection, bindparam, delete, exists, insert, select, update

from headrace.errors import AlreadyExists, CorruptTable, InvalidArgument, NotFound
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.name import reference
from headrace.registry.tables import Tables

Definition = TypeVar("Definition", GroupDefinition, ViewDefinition, DatasetDefinition)

_MAX_VERSION = 2**31 - 1
_MAX_TAG_KEY_BYTES = 255
_MOST_TAGS = 100
_SHOWN = 10
_LONGEST_GLOB = 255


def each(definition: object) -> bool:
    return True


class Catalog(Generic[Definition]):
    """Methods that change something run inside `Database.writing()`.

    Args:
        refer: how people are told of a name and a version.
    """

    def __init__(
        self,
        noun: str,
        tables: Tables,
        kind: type[Definition],
        refer: Callable[[str, int], str] = reference,
    ) -> None:
        self._noun = noun
        self._refer = refer
        self._names, self._entries, self._tags = tables.names, tables.entries, tables.tags
        self._decoder: msgspec.json.Decoder[Definition] = msgspec.json.Decoder(kind)
        columns = self._entries.c
        of_name = select(columns.definition).where(
            columns.project == bindparam("project"), columns.name == bindparam("name")
        )
        self._of_name = of_name.order_by(columns.version)
        self._one = of_name.where(columns.version == bindparam("version"))
        self._newest = of_name.order_by(columns.version.desc()).limit(1)

    def get(
        self,
        connection: Connection,
        project: str,
        name: str,
        version: int | None,
        seen: Callable[[Definition], bool] = each,
    ) -> Definition:
        """None is the highest version. Raises NotFound, which names what there is.

        Args:
            seen: what is not is as if it were not there.
        """
        key = {"project": project, "name": name}
        if version is None:
            text = connection.scalar(self._newest, key)
        else:
            text = connection.scalar(self._one, {**key, "version": _checked_version(version)})
        found = None if text is None else self._decode(text, project, name)
        if version is None and found is not None and not seen(found):
            older = reversed(self.versions(connection, project, name))
            found = next((definition for definition in older if seen(definition)), None)
        if found is None or not seen(found):
            raise self._absent(connection, project, name, version, seen)
        return found

    def versions(self, connection: Connection, project: str, name: str) -> list[Definition]:
        """All of one name, by version."""
        texts = connection.scalars(self._of_name, {"project": project, "name": name})
        return [self._decode(text, project, name) for text in texts]

    def projects(self, connection: Connection) -> set[str]:
        """Those that have definitions."""
        return set(connection.scalars(select(self._entries.c.project).distinct()))

    def everything(self, connection: Connection) -> list[Definition]:
        """All definitions of all projects."""
        columns = self._entries.c
        rows = connection.execute(select(columns.project, columns.name, columns.definition))
        return [self._decode(row.definition, row.project, row.name) for row in rows]

    def find(
        self, connection: Connection, project: str, name_glob: str | None, tags: Mapping[str, str]
    ) -> list[Definition]:
        """All versions whose name matches the glob and that bear all the tags, by name and version."""
        _check_count(tags)
        if name_glob is not None and len(name_glob) > _LONGEST_GLOB:
            raise InvalidArgument(f"a pattern of {len(name_glob):,} characters is longer than any name")
        columns = self._entries.c
        query = select(columns.name, columns.definition).where(columns.project == project)
        for key, value in tags.items():
            tag = self._tags.c
            query = query.where(
                exists().where(
                    tag.project == columns.project,
                    tag.name == columns.name,
                    tag.version == columns.version,
                    tag.key == key,
                    tag.value == value,
                )
            )
        found = [
            self._decode(row.definition, project, row.name)
            for row in connection.execute(query)
            if name_glob is None or fnmatch.fnmatchcase(row.name, name_glob)
        ]
        # Sorted here: databases differ in the order of texts.
        return sorted(found, key=lambda definition: (definition.name, definition.version))

    def add(self, connection: Connection, project: str, definition: Definition) -> Definition:
        """Store a definition; version 0 becomes the next after the highest that the name ever had.

        Raises:
            AlreadyExists: that version is there.
            InvalidArgument: tags or texts that cannot be stored.
        """
        name, names = definition.name, self._names.c
        of_name = (names.project == project) & (names.name == name)
        last = connection.scalar(select(names.last_version).where(of_name))
        version = _checked_version(definition.version or (last or 0) + 1)
        definition = msgspec.structs.replace(definition, version=version)
        text = self._encode(definition)
        key = {"project": project, "name": name, "version": version}
        if connection.scalar(self._one, key) is not None:
            raise AlreadyExists(
                f"{self._noun} {definition.ref} already exists in project {project}",
                hint="leave the version out to create the next one",
                details=key,
            )
        if last is None:
            connection.execute(
                insert(self._names), {"project": project, "name": name, "last_version": version}
            )
        elif version > last:
            connection.execute(update(self._names).where(of_name).values(last_version=version))
        connection.execute(insert(self._entries), {**key, "definition": text})
        self._write_tags(connection, key, definition.tags)
        return definition

    def remove(self, connection: Connection, project: str, name: str, version: int) -> Definition:
        """Delete one version and return what it was. Raises NotFound."""
        _checked_version(version)
        definition = self.get(connection, project, name, version)
        columns = self._entries.c
        connection.execute(
            delete(self._entries).where(
                columns.project == project, columns.name == name, columns.version == version
            )
        )
        return definition

    def set_tags(
        self, connection: Connection, project: str, name: str, version: int, changes: Mapping[str, str | None]
    ) -> Definition:
        """Add and replace tags, and remove those whose value is None. Raises NotFound, InvalidArgument."""
        _checked_version(version)
        definition = self.get(connection, project, name, version)
        merged = {**definition.tags, **changes}
        tags = {key: value for key, value in merged.items() if value is not None}
        definition = msgspec.structs.replace(definition, tags=tags)
        self.replace(connection, project, definition)
        tag = self._tags.c
        connection.execute(
            delete(self._tags).where(tag.project == project, tag.name == name, tag.version == version)
        )
        self._write_tags(connection, {"project": project, "name": name, "version": version}, tags)
        return definition

    def replace(self, connection: Connection, project: str, definition: Definition) -> None:
        """Store a definition, its tags apart, in place of the one that is there."""
        entry = self._entries.c
        connection.execute(
            update(self._entries)
            .where(
                entry.project == project,
                entry.name == definition.name,
                entry.version == definition.version,
            )
            .values(definition=self._encode(definition))
        )

    def _write_tags(self, connection: Connection, key: Mapping[str, object], tags: Mapping[str, str]) -> None:
        if tags:
            rows = [{**key, "key": tag, "value": value} for tag, value in tags.items()]
            connection.execute(insert(self._tags), rows)

    def _encode(self, definition: Definition) -> str:
        where = f"{self._noun} {definition.ref}"
        _check_count(definition.tags)
        try:
            text = msgspec.json.encode(definition).decode()
            self._decoder.decode(text)  # so that nothing is stored that cannot be read
        except UnicodeEncodeError:
            raise InvalidArgument(f"{where}: a text holds half of a surrogate pair") from None
        except msgspec.MsgspecError as error:
            raise InvalidArgument(f"{where} is declared with a value of a wrong type: {error}") from None
        for key, value in definition.tags.items():
            if not key or len(key.encode("utf-8", "surrogatepass")) > _MAX_TAG_KEY_BYTES:
                raise InvalidArgument(
                    f"{where}: tag {key!r} is empty or longer than {_MAX_TAG_KEY_BYTES} bytes"
                )
            if "\0" in key or "\0" in value:
                raise InvalidArgument(f"{where}: tag {key!r} holds a NUL character")
        return text

    def _decode(self, text: str, project: str, name: str) -> Definition:
        try:
            return self._decoder.decode(text)
        except msgspec.MsgspecError as error:
            raise CorruptTable(
                f"the registry's entry for {self._noun} {name} in project {project} cannot be read: {error}"
            ) from None

    def _absent(
        self,
        connection: Connection,
        project: str,
        name: str,
        version: int | None,
        seen: Callable[[Definition], bool],
    ) -> NotFound:
        columns = self._entries.c
        rows = connection.execute(
            select(columns.name, columns.version, columns.definition).where(columns.project == project)
        )
        there: dict[str, list[int]] = {}
        for row in rows:
            if seen is each or seen(self._decode(row.definition, project, row.name)):
                there.setdefault(row.name, []).append(row.version)
        versions = sorted(there.get(name, ()))
        similar = difflib.get_close_matches(name, sorted(there), n=3)
        if versions:
            hint = f"{name} has version {_some(versions[::-1])}"
        elif similar:
            hint = f"did you mean {' or '.join(similar)}?"
        elif there:
            hint = f"there is {_some(sorted(there))}"
        else:
            hint = "it has none that you may see: none was made yet, it was deleted, or you are granted nothing there"
        what = self._refer(name, version or 0)
        return NotFound(
            f"project {project} has no {self._noun} {what}",
            hint=hint,
            details={
                "project": project,
                "name": name,
                "version": version,
                "versions": versions,
                "similar": [] if versions else similar,
            },
        )


def _check_count(tags: Mapping[str, str]) -> None:
    if len(tags) > _MOST_TAGS:
        raise InvalidArgument(f"{len(tags)} tags, and {_MOST_TAGS} is the most")


def _some(things: Sequence[object]) -> str:
    more = ["…"] if len(things) > _SHOWN else []
    return ", ".join([*map(str, things[:_SHOWN]), *more])


def _checked_version(version: object) -> int:
    if not isinstance(version, int) or not 0 <= version <= _MAX_VERSION:
        raise InvalidArgument(f"version {version!r} is refused", hint=f"versions are 1 to {_MAX_VERSION}")
    return version
