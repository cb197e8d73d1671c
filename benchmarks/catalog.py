"""All workloads."""

from __future__ import annotations

from benchmarks import lookup, memory, pit, tpch, wide
from benchmarks.workload import Workload

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for family in (tpch, memory, lookup, pit, wide) for workload in family.WORKLOADS
}
