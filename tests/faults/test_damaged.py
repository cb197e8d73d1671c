"""Files of a store in S3 that somebody else has cut, or removed, while a process knows them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import headrace as hr
from faults.place import Place, place, rows
from servers.s3 import S3

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("damage", ["cut", "removed"])
def test_reads_and_upserts_name_the_file(tmp_path: Path, damage: str) -> None:
    with S3(tmp_path) as s3:
        there = place(tmp_path, f"{s3.url}/lake", s3.storage_options)
        with there.connect() as knowing:
            group = there.group(knowing)
            values = np.random.default_rng(1).integers(
                1 << 60, size=200_000
            )  # so that none is kept in memory
            group.insert(pa.table({"id": np.arange(200_000), "value": values}))
            assert group.select("id").read().to_arrow().num_rows == 200_000
            (file,) = tmp_path.rglob("*.parquet")
            if damage == "cut":
                os.truncate(file, 1000)
            else:
                file.unlink()
            assert_named(there, knowing, file)
        with there.connect() as new:
            assert_named(there, new, file)


def assert_named(there: Place, store: hr.FeatureStore, file: Path) -> None:
    group = store.get_feature_group("numbers")
    with pytest.raises(hr.CorruptTable, match=file.name):
        group.read().to_arrow()
    with pytest.raises(hr.CorruptTable, match=file.name):
        group.insert(rows(range(10), 2))
