"""Snapshots whose rows come as Arrow, and not from files that the engine reads."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from headrace.formats.base import Snapshot
from headrace.model.expression import Condition


class Batches(Protocol):
    """Rows on their way, to be read once."""

    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def cancel(self) -> None:
        """Stop; from any thread."""
        ...


@dataclasses.dataclass(frozen=True)
class StreamedSnapshot(Snapshot):
    """
    Args:
        origin: tells apart what one reference has led to.
    """

    origin: str = ""

    @abstractmethod
    def batches(self, columns: Sequence[str], conditions: Iterable[Condition], files: pa.Table) -> Batches:
        """The rows of `files`, with these columns; at least those for which all conditions are true."""

    @abstractmethod
    def shown(self, columns: Sequence[str], conditions: Sequence[Condition]) -> str:
        """How they are read, for people."""
