"""What the registry keeps of training datasets."""

from __future__ import annotations

import datetime as dt
import math
from typing import Literal

import msgspec

from headrace.errors import InvalidArgument
from headrace.model.name import check_name
from headrace.model.request import Part, ReadRequest, Share, Span, in_parts
from headrace.model.stored_file import StoredFile
from headrace.model.struct import know

DatasetFormat = Literal["parquet", "arrow", "csv"]

WHOLE = "all"
"""The one split of a dataset that was made without any."""


class StoredSpine(msgspec.Struct, frozen=True):
    """The file of the rows that a dataset was made of, and what tells that it is as it was written."""

    rows: int
    size_bytes: int
    crc32: int


class Split(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named part of the rows of a dataset, and the files that hold it, in order."""

    name: str
    part: Part | None = None
    """None is all rows."""
    files: tuple[StoredFile, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


class DatasetDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A training dataset: the read that gave its rows, pinned, and the files in which they lie.

    Args:
        name: the reference of its feature view, `delays@v1`.
        version: its number among the datasets of that view.
        request: the read of all rows, without the parts.
        key: given by who asked for it, to ask whether it was made.
        schema_ipc: the columns of its rows, as the Arrow IPC schema; CSV files keep no types themselves.
    """

    name: str
    version: int
    request: ReadRequest
    splits: tuple[Split, ...]
    format: DatasetFormat
    key: str
    description: str = ""
    tags: dict[str, str] = {}
    location: str = ""
    created: dt.datetime | None = None
    schema_ipc: bytes = b""
    features: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    snapshots: dict[str, int] = {}
    spine: StoredSpine | None = None
    """None if no rows were given."""

    @property
    def ref(self) -> str:
        return dataset_reference(self.name, self.version)

    def read_of(self, split: Split | None) -> ReadRequest:
        """The read that gives the rows of a split, or of all of them, in the order of the files."""
        parts = tuple(s.part for s in self.splits if s.part is not None and split in (None, s))
        return in_parts(msgspec.structs.replace(self.request, ordered=True), parts)


def dataset_reference(view: str, version: int) -> str:
    """Version 0 is one that has no number yet."""
    return f"{version} of {view}" if version else f"of {view}"


def check_splits(splits: tuple[Split, ...]) -> None:
    """Raises InvalidName, InvalidArgument for splits that no dataset has, whatever rows they share."""
    if not splits:
        raise InvalidArgument("a training dataset has at least one split")
    for split in splits:
        check_name("split", split.name)
    names = [split.name for split in splits]
    if len(set(names)) < len(names):
        raise InvalidArgument(f"splits: a name stands twice in {', '.join(names)}")
    if len(splits) > 1 and any(split.part is None for split in splits):
        raise InvalidArgument("splits: one holds all rows, so that there can be no other")
    for split in splits:
        span = split.part
        if (
            isinstance(span, Span)
            and span.start is not None
            and span.end is not None
            and span.start >= span.end
        ):
            raise InvalidArgument(
                f"splits: {split.name} begins at {span.start.isoformat()}, "
                f"which is not before its end {span.end.isoformat()}"
            )
    shares = [split.part for split in splits if isinstance(split.part, Share)]
    if shares and sorted([0.0, *(s.high for s in shares)]) != sorted([*(s.low for s in shares), 1.0]):
        total = math.fsum(share.high - share.low for share in shares)
        raise InvalidArgument(
            f"splits: the fractions add up to {total:.9g}, not to 1", hint="name what remains as a split, too"
        )


know(DatasetDefinition)
