"""Which files are in a folder, and what the names of its folders tell of their rows."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from headrace.errors import HeadraceError, InvalidArgument, PermissionDenied, SchemaMismatch
from headrace.formats.instants import times
from headrace.storage.files import Listed
from headrace.storage.folder import Folder

_NULLS = ("", "__HIVE_DEFAULT_PARTITION__")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LOGS = {"_delta_log": "delta", ".hoodie": "hudi"}
"""What is in folders of tables whose files alone tell too much: old rows, and deleted ones."""


def listed(table: Folder, endings: Sequence[str]) -> list[Listed]:
    """The files of a folder, by their paths from there; of one that is a file itself, that.

    Names that begin with a dot or an underscore are not looked at, as by Spark and its kin: what is there is not rows.

    Raises:
        InvalidArgument: some are of a table of Delta or Hudi.
    """
    itself = table.files.fact(table.uri)
    if itself is not None:
        return [Listed("", itself.size, itself.modified)]
    found = []
    for file in table.files.tree(table.uri, ""):
        if not _is_hidden(file.path):
            if file.path.lower().endswith(tuple(endings)):
                found.append(file)
            continue
        parts = file.path.split("/")
        log = next((part for part in parts if part in _LOGS), None)
        if log is not None:
            _refuse(table, "/".join([table.shown, *parts[: parts.index(log)]]), log)
    return sorted(found)


def check_above(table: Folder) -> None:
    """Raises InvalidArgument if a folder or file is within a table of Delta or Hudi. It asks of each folder above."""
    root, _, path = table.uri.rpartition("://")
    names = path.split("/")
    for depth in range(len(names) - 1, 0, -1):
        above = "/".join(names[:depth])
        for log in _LOGS:
            if _has(table, f"{root}://{above}/{log}" if root else f"{above}/{log}"):
                _refuse(table, table.shown.removesuffix("/" + "/".join(names[depth:])), log)


def _has(table: Folder, folder: str) -> bool:
    try:
        return bool(table.files.names(folder))
    except (PermissionError, NotADirectoryError):
        return False
    except HeadraceError as error:
        if isinstance(error, PermissionDenied):  # folders above may be for others
            return False
        raise


def _refuse(table: Folder, where: str, log: str) -> None:
    raise InvalidArgument(
        f"{table.shown} cannot be read as a folder of files: there is a table at {where}, whose files hold also what "
        "is no longer in it",
        hint=f"register {where} with format={_LOGS[log]!r}, or a folder without it",
    )


def _is_hidden(path: str) -> bool:
    return any(part[0] == "." or (part[0] == "_" and "=" not in part) for part in path.split("/"))


def partitions(table: Folder, files: Sequence[Listed]) -> dict[str, list[str | None]]:
    """The values that folders named `column=value` tell, as texts: for each column one for each file.

    Raises:
        SchemaMismatch: files are in folders of different columns.
    """
    told = [_told(file.path) for file in files]
    for file, values in zip(files, told, strict=True):
        if [*values] != [*told[0]]:
            raise SchemaMismatch(
                f"files at {table.shown} are in partitions of different columns: "
                f"{files[0].path} of ({', '.join(told[0])}), {file.path} of ({', '.join(values)})",
                hint="register the folders of each by themselves",
            )
    return {name: [values[name] for values in told] for name in (told[0] if told else ())}


def _told(path: str) -> dict[str, str | None]:
    parts = [part.partition("=") for part in path.split("/")[:-1] if "=" in part]
    try:
        return {
            unquote(name, errors="strict"): None if value in _NULLS else unquote(value, errors="strict")
            for name, _, value in parts
        }
    except UnicodeDecodeError as error:
        raise SchemaMismatch(f"{path}: a folder's name is no text once its % are decoded: {error}") from None


def typed(texts: Sequence[str | None], kind: pa.DataType | None) -> pa.Array:
    """Values of a partition column: whole numbers or dates if all are, else texts; or of a type that is given.

    Raises:
        pa.ArrowInvalid: one is no value of the type.
    """
    values: Sequence[Any] = texts
    some = [text for text in texts if text is not None]
    if kind is not None:
        told = pa.array(texts, pa.string())
        return times(told, kind) if pa.types.is_timestamp(kind) else told.cast(kind)
    if some and all(map(_WHOLE.fullmatch, some)):
        return pa.array([None if text is None else int(text) for text in texts], pa.int64())
    if some and all(map(_is_date, some)):
        values = [None if text is None else dt.date.fromisoformat(text) for text in texts]
        return pa.array(values, pa.date32())
    return pa.array(values, pa.string())


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and dt.date.fromisoformat(text))
    except ValueError:
        return False
