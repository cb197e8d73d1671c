"""The files of a Hudi table's snapshot, as a snapshot tells them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from headrace.formats.hudi_listing import Group, Slice
from headrace.formats.hudi_partition import is_told, partition_texts, read_value
from headrace.formats.hudi_properties import HudiProperties


def files_table(
    uri: str, properties: HudiProperties, schema: pa.Schema, current: Collection[tuple[Group, Slice]]
) -> pa.Table:
    """What `Snapshot.files` is; the values of partition columns are statistics where the files have them, too."""
    slices = [found for _, found in current]
    columns = {
        "path": pa.array([f"{uri}/{found.path}" for found in slices], pa.string()),
        "num_records": pa.array([found.rows for found in slices], pa.int64()),
        "size_bytes": pa.array([found.size for found in slices], pa.int64()),
    }
    if properties.drops_partitions or properties.by_value:
        partitions = [partition for (partition, _), _ in current]
        texts = {p: partition_texts(p, properties) for p in dict.fromkeys(partitions)}
        for i, name in enumerate(properties.partition_fields):
            if name in schema.names:
                told = {p: None if t is None else t[i] for p, t in texts.items()}
                columns |= _told(name, schema.field(name).type, told, partitions, properties.drops_partitions)
    return pa.table(columns)


def _told(
    name: str, kind: pa.DataType, told: dict[str, str | None], partitions: list[str], dropped: bool
) -> dict[str, pa.Array]:
    stored = kind if is_told(kind) else pa.string()
    if dropped and stored != kind:
        return {f"partition.{name}": pa.array([told[p] for p in partitions], pa.string())}
    values: dict[str, Any] = {p: None if t is None else read_value(t, stored) for p, t in told.items()}
    array = pa.array([values[p] for p in partitions], stored)
    if dropped:
        return {f"partition.{name}": array}
    return {f"min.{name}": array, f"max.{name}": array} if stored == kind else {}
