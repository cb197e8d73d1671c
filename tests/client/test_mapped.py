"""Files that are mapped are those that were written; else the service is asked, which tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from headrace.client.mapped import mapped_rows
from headrace.formats.rows_file import write_file
from headrace.model.definition import write_schema
from headrace.model.request import Prepared, ReadRequest
from headrace.model.stored_file import StoredFile

ROWS = pa.table({"id": [1, 2, 3], "text": ["a", None, "c"]})


@pytest.fixture
def written(tmp_path: Path) -> StoredFile:
    return write_file("arrow", tmp_path / "x.arrow", ROWS, mark="k/x.arrow")


def read(*files: StoredFile, schema: pa.Schema = ROWS.schema) -> pa.Table | None:
    return mapped_rows(
        Prepared(
            request=ReadRequest(kind="stored"),
            schema_ipc=write_schema(schema),
            features=(),
            labels=(),
            snapshots={},
            mapped=files,
        )
    )


def test_they_are_mapped(written: StoredFile) -> None:
    found = read(written, written)
    assert found is not None
    assert found.equals(pa.concat_tables([ROWS, ROWS]), check_metadata=True)
    assert read() is None


@pytest.mark.parametrize(
    "change", [{"path": "/none"}, {"rows": 4}, {"size_bytes": 10}, {"mark": "k/y.arrow"}], ids=str
)
def test_another_file(written: StoredFile, change: dict[str, Any]) -> None:
    assert read(written, msgspec.structs.replace(written, **change)) is None


def test_a_shorter_file(written: StoredFile) -> None:
    """What its head says of its length would end the process."""
    path = Path(written.path)
    path.write_bytes(path.read_bytes()[:-8])
    assert read(written) is None


def test_other_columns(written: StoredFile) -> None:
    assert read(written, schema=pa.schema({"id": pa.int32()})) is None
    assert read(written, schema=pa.schema({"none": pa.int64()})) is None
