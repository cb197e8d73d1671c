"""Whether the files of a Hudi table have its columns under the names that these have now.

With `hoodie.schema.on.read.enable` Hudi numbers the columns, and renames one, or makes one anew under the name of one
that was dropped, without writing files anew: then a name in an older file is that of another column.

Source: https://hudi.apache.org/docs/schema_evolution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from headrace.errors import CorruptTable, Unsupported
from headrace.formats.hudi_commit import HudiCommit
from headrace.storage.folder import Folder

_ALTER = "ALTER_SCHEMA"
_HISTORY = ".hoodie/.schema"
_ENDING = ".schemacommit"


def check_names(table: Folder, commits: Sequence[HudiCommit]) -> None:
    """
    Args:
        commits: those that are read, oldest first.

    Raises:
        Unsupported: a column has a name in older files that is not its own now.
    """
    if not any(commit.numbered or commit.operation == _ALTER for commit in commits):
        return
    numbers: dict[str, int] = {}
    names: dict[int, str] = {}
    told = [commit.numbered for commit in commits if commit.numbered]
    for schema in [*_history(table), *map(_decoded, told)]:
        for number, name in _numbered(schema):
            if names.setdefault(number, name) != name:
                raise _refused(table, f"column {names[number]!r} was renamed to {name!r}")
            if numbers.setdefault(name, number) != number:
                raise _refused(table, f"column {name!r} was dropped, and another made under its name")
    # The first that has numbers may be the one that renames, and what is before it has none.
    before: set[str] = set()
    for commit in commits:
        now = {*_names(_decoded(commit.schema))}
        if commit.operation == _ALTER and before - now and now - before:
            raise _refused(table, f"column {min(before - now)!r} was renamed to {min(now - before)!r}")
        before = now or before


def _refused(table: Folder, what: str) -> Unsupported:
    return Unsupported(
        f"{what} in the Hudi table at {table.shown}, whose older files have the name of then",
        hint="write its rows into a new table, such as by Spark's CREATE TABLE … AS SELECT",
    )


def _history(table: Folder) -> list[Any]:
    """All that were, oldest first, as the newest file tells."""
    folder = f"{table.uri}/{_HISTORY}"
    newest = max((name for name in table.files.names(folder) if name.endswith(_ENDING)), default=None)
    if newest is None:
        return []
    path = f"{folder}/{newest}"
    try:
        found = msgspec.json.decode(table.files.read(path), type=dict[str, list[dict[str, Any]]])
        return sorted(found.get("schemas", []), key=lambda schema: int(schema["version_id"]))
    except FileNotFoundError:  # removed as it was read: the commits tell
        return []
    except (msgspec.MsgspecError, RecursionError, ValueError, KeyError, TypeError) as error:
        raise CorruptTable(f"{path} cannot be read: {error}") from None


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.MsgspecError, RecursionError, ValueError):  # whoever needs it says so
        return None


def _names(schema: Any) -> Iterator[str]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and isinstance(field.get("name"), str):
            yield field["name"]


def _numbered(kind: Any, path: str = "") -> Iterable[tuple[int, str]]:
    """The number of each column, and of each field in one, with its name; fields by the path to them."""
    if not isinstance(kind, dict):
        return
    fields = kind.get("fields")
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and isinstance(field.get("id"), int):
            name = f"{path}{field.get('name')}"
            yield field["id"], name
            yield from _numbered(field.get("type"), f"{name}.")
    for held in ("element", "key", "value"):
        yield from _numbered(kind.get(held), f"{path}{held}.")
