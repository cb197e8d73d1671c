"""A training dataset in the hands of a user."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pyarrow as pa

from headrace.backend import Backend
from headrace.client.query import column_names
from headrace.client.result import Result, prepare
from headrace.model.dataset import DatasetDefinition, DatasetFormat
from headrace.model.definition import read_schema
from headrace.model.request import ReadRequest, Share, Span, StoredRead
from headrace.model.text import check_text

SplitTimes = tuple[dt.datetime | None, dt.datetime | None]


class TrainingDataset:
    """Training data of a feature view as it was once, stored: files, and what they were made of.

    Its rows come by event time, primary key, and then the other columns, split by split.
    """

    def __init__(self, backend: Backend, definition: DatasetDefinition) -> None:
        self._backend = backend
        self._definition = definition

    @property
    def version(self) -> int:
        """Its number among the datasets of its view."""
        return self._definition.version

    @property
    def splits(self) -> dict[str, float | SplitTimes]:
        """By name the fraction of the rows, or from when until when; `{"all": 1.0}` where it was not split."""
        found: dict[str, float | SplitTimes] = {}
        for split in self._definition.splits:
            match split.part:
                case None:
                    found[split.name] = 1.0
                case Share(low, high):
                    found[split.name] = round(high - low, 12)
                case Span(start, end):
                    found[split.name] = (start, end)
        return found

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each split has."""
        return {split.name: split.rows for split in self._definition.splits}

    @property
    def snapshots(self) -> dict[str, int]:
        """The snapshot of each group that it was made of, but for those that keep none: `{"weather@v1": 12}`."""
        return {ref: snapshot for ref, snapshot in self._definition.snapshots.items() if snapshot >= 0}

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows."""
        return read_schema(self._definition.schema_ipc)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of X in `.xy()`."""
        return self._definition.features

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of y in `.xy()`."""
        return self._definition.labels

    @property
    def location(self) -> str:
        """The folder of its files, where the store is: a folder for each split."""
        return self._definition.location

    @property
    def format(self) -> DatasetFormat:
        """What its files are: "parquet", "arrow" or "csv"."""
        return self._definition.format

    @property
    def created(self) -> dt.datetime:
        """When it was made."""
        assert self._definition.created is not None
        return self._definition.created

    @property
    def description(self) -> str:
        """What it was declared to be."""
        return self._definition.description

    @property
    def tags(self) -> dict[str, str]:
        """A copy of its tags."""
        return dict(self._definition.tags)

    def read(self, split: str | None = None, columns: Sequence[str] | None = None) -> Result:
        """The rows as they were written; of all splits, one after the other, if None.

        Raises:
            NotFound, UnknownColumn.
        """
        return self._result(split, columns, recomputed=False)

    def recompute(self, split: str | None = None) -> Result:
        """The same rows in the same order, from the snapshots and the spine that it was made of.

        Raises:
            NotFound: no such split, or a group was deleted. SnapshotNotFound: its files are gone.
        """
        return self._result(split, None, recomputed=True)

    def _result(self, split: str | None, columns: Sequence[str] | None, recomputed: bool) -> Result:
        wanted = StoredRead(
            view=self._definition.name,
            version=self._definition.version,
            split=None if split is None else check_text("split", split),
            columns=None if columns is None else column_names(columns),
            recomputed=recomputed,
        )
        return prepare(self._backend, ReadRequest(kind="stored", stored=wanted), None)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {rows} rows" for name, rows in self.rows.items())
        return f"TrainingDataset({self._definition.ref}, {told})"
