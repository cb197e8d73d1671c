"""What is different between files of different kinds."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from headrace.errors import CorruptTable, InvalidName, NameClash, SchemaMismatch
from headrace.storage.files import Files


@dataclasses.dataclass(frozen=True)
class Described:
    """One file.

    Args:
        schema: its columns.
        rows: their number; None where it is not told.
        finer: the columns that have times of nanoseconds in them, in the types of the file, if the engine reads them.
    """

    schema: pa.Schema
    rows: int | None = None
    finer: pa.Schema = dataclasses.field(default_factory=lambda: pa.schema([]))


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Turns what Arrow says of a damaged file into CorruptTable; what the system says, it passes on."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CorruptTable(f"{path} cannot be read: {error}") from None


class FileKind(Protocol):
    label: str
    """For people: "Parquet"."""
    endings: tuple[str, ...]
    """Of the names of such files, in small letters."""

    def described(self, files: Files, path: str) -> Described:
        """Raises CorruptTable if it is no such file. OSError: it is not there, or cannot be read."""
        ...

    def united(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """The type of a column that is of these in two files; None if it can be of none."""
        ...

    def holds(self, kind: pa.DataType) -> bool:
        """Whether a column of such files can be of a type that is given to it."""
        ...


class StreamedKind(FileKind, Protocol):
    """One whose files the engine does not read by itself."""

    def batches(
        self, files: Files, path: str, schema: pa.Schema, types: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file, with the columns of `schema` that it has, or with nulls in those that it lacks.

        Args:
            types: of all columns of the table, by name.
        """
        ...


def merged(
    kind: FileKind, where: str, described: Sequence[tuple[str, pa.Schema]], given: pa.Schema | None
) -> pa.Schema:
    """The columns of all files, in the order in which they are met.

    Raises:
        SchemaMismatch: a column is of types in two files that do not go together; or there is no column.
        NameClash: a file has one twice. InvalidName: one has no name.
    """
    known: dict[str, tuple[pa.DataType, str]] = {}
    fixed = {} if given is None else {field.name: field.type for field in given}
    for path, schema in described:
        if "" in schema.names:
            raise InvalidName(
                f"{path} at {where} has a column without a name",
                hint="name it; pandas writes its index as one, which index=False leaves out",
                details={"file": path},
            )
        if len(set(schema.names)) < len(schema):
            twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
            raise NameClash(
                f"{path} at {where} names a column twice: {', '.join(map(repr, twice))}",
                details={"file": path, "columns": twice},
            )
        for field in schema:
            held, first = known.get(field.name, (field.type, path))
            together = fixed.get(field.name) or kind.united(held, field.type)
            if together is None:
                raise SchemaMismatch(
                    f"column {field.name!r} of the files at {where} is {held} in {first} and {field.type} in {path}",
                    hint="register the files of each type by themselves, or write those of one of them anew",
                    details={"column": field.name, "files": [first, path]},
                )
            known[field.name] = together, first if together == held else path
    if not known:
        raise SchemaMismatch(
            f"the files at {where} have no columns",
            hint=f"a {kind.label} file begins with what names its columns: see whether they were written to the end",
        )
    return pa.schema([(name, held) for name, (held, _) in known.items()])
