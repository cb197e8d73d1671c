"""All workloads."""

from __future__ import annotations

from benchmarks import (
    cached,
    checks,
    codec,
    codec_jvm,
    commits,
    conversion,
    daily,
    dataset,
    external,
    flight_sql,
    fraud,
    hudi,
    legacy,
    lookup,
    memory,
    pit,
    spark,
    spark_faces,
    spark_pit,
    spark_rows,
    statistics,
    storage,
    taxi,
    taxi_files,
    tpch,
    transfer,
    tunnel,
    upsert,
    wide,
)
from benchmarks.workload import Workload

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for family in (
        tpch,
        checks,
        cached,
        daily,
        memory,
        lookup,
        pit,
        wide,
        dataset,
        taxi,
        taxi_files,
        conversion,
        fraud,
        transfer,
        upsert,
        statistics,
        commits,
        storage,
        tunnel,
        legacy,
        hudi,
        external,
        flight_sql,
        spark,
        spark_faces,
        spark_pit,
        spark_rows,
        codec,
        codec_jvm,
    )
    for workload in family.WORKLOADS
}
