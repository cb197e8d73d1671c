"""All workloads."""

from __future__ import annotations

from benchmarks import commits, dataset, lookup, memory, pit, statistics, tpch, upsert, wide
from benchmarks.workload import Workload

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for family in (tpch, memory, lookup, pit, wide, dataset, upsert, statistics, commits)
    for workload in family.WORKLOADS
}
