"""Names of projects, feature groups and views, and of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from headrace.errors import InvalidArgument, InvalidName, NameClash
from headrace.model.text import check_text

MAX_COLUMNS = 4096
"""A feature group holds at most this many columns."""

MAX_COLUMN_BYTES = 255

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_REFERENCE = re.compile(r"(?P<name>[^@]+)(?:@v(?P<version>[0-9]{1,10}))?")
# Delta's change feed has the first three of its own, the reader of data files the others.
_RESERVED_COLUMNS = {"_change_type", "_commit_version", "_commit_timestamp", "file_index", "file_row_number"}
_RESERVED_PREFIX = "__headrace"


def folded(name: str) -> str:
    """As DuckDB folds names: ASCII letters alone."""
    return name.encode().lower().decode()


def check_name(kind: str, name: object) -> str:
    """Return `name` if it may name a `kind` ("feature group", "feature view", "project").

    Names become folders, Flight paths and SQL tables, so they are the part that all of these treat alike:
    lower case ASCII letters, digits and `_`, not starting with a digit, at most 63.

    Raises:
        InvalidName: anything else.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidName(
            f"{name!r} cannot name a {kind}",
            hint="use lower case letters, digits and '_', at most 63, not starting with a digit",
            details={"kind": kind, "name": str(name)},
        )
    return name


def check_tags(tags: object) -> dict[str, str]:
    """A copy of the tags; None has none. Raises InvalidArgument unless they are text by text."""
    if tags is None:
        return {}
    if not isinstance(tags, Mapping) or not all(isinstance(x, str) for kv in tags.items() for x in kv):
        raise InvalidArgument(f"tags are texts by name, not {tags!r}", hint='such as {"team": "weather"}')
    for word in (*tags, *tags.values()):
        check_text("tag", word)
    return dict(tags)


def check_columns(where: str, names: Iterable[str]) -> None:
    """Check the column names of a table; `where` names the table in the error.

    Raises:
        InvalidName: empty, too long, with control characters or backticks, or reserved.
        NameClash: two names that are equal, or differ by case alone.
        InvalidArgument: no columns, or more than `MAX_COLUMNS`.
    """
    seen: dict[str, str] = {}
    clashes: list[list[str]] = []
    for name in names:
        if not name or len(name.encode("utf-8", "surrogatepass")) > MAX_COLUMN_BYTES:
            raise InvalidName(
                f"{where}: column name {name!r} is empty or longer than {MAX_COLUMN_BYTES} bytes"
            )
        if not name.isprintable() or "`" in name:
            # Delta's MERGE quotes names in backticks and has no escape for them.
            raise InvalidName(f"{where}: column name {name!r} holds a backtick, or what cannot be printed")
        if name.casefold() in _RESERVED_COLUMNS or name.startswith(_RESERVED_PREFIX):
            raise InvalidName(f"{where}: column name {name!r} is reserved", hint="rename the column")
        if name.casefold() in seen:
            clashes.append([seen[name.casefold()], name])
        seen.setdefault(name.casefold(), name)
    if clashes:
        pairs = ", ".join(f"{a!r} and {b!r}" for a, b in clashes)
        raise NameClash(
            f"{where}: columns are equal, or differ by case alone: {pairs}",
            hint="rename one of each pair",
            details={"columns": clashes},
        )
    if not seen:
        raise InvalidArgument(f"{where}: there are no columns")
    if len(seen) > MAX_COLUMNS:
        raise InvalidArgument(
            f"{where}: {len(seen)} columns, and {MAX_COLUMNS} is the most",
            hint="split the columns over several feature groups with the same key",
        )


def parse_reference(text: str) -> tuple[str, int | None]:
    """`"weather@v2"` → `("weather", 2)`; `"weather"` → `("weather", None)`, which means the newest."""
    match = _REFERENCE.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise InvalidName(f"{text!r} is no reference", hint="write name or name@v2")
    version = match["version"]
    return match["name"], int(version) if version else None


def reference(name: str, version: int) -> str:
    """Version 0 is one that has no number yet."""
    return f"{name}@v{version}" if version else name
