"""What is written and read in storages is compared with its source; nothing is left behind."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.measure import WrongResult, measure
from benchmarks.outcome import case_outcomes
from benchmarks.servers import Lake
from benchmarks.storage import Read, Source, SourceSums, StreamedRead, StreamedWrite, Write, pair
from benchmarks.tunnel import Delta
from benchmarks.workload import Case, Workload

pytestmark = pytest.mark.slow

NUMBERS = ["l_orderkey", "l_partkey", "l_suppkey", "l_linenumber"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return source(tmp_path / "rows.parquet")


@pytest.fixture
def lake(tmp_path: Path, path: Path) -> Lake:
    found = Lake(str(tmp_path / "lake"), tmp_path / "home")
    with found.connected() as store:
        store.create_feature_group("rows", primary_key=["l_orderkey"]).insert(pq.read_table(path))
    return found


def source(path: Path, last: int = 99) -> Path:
    keys = [*range(99), last]
    columns = {name: [key * place for key in keys] for place, name in enumerate(NUMBERS, 1)}
    pq.write_table(pa.table(columns), path)
    return path


def test_writes_and_reads_agree_with_the_source(lake: Lake, path: Path) -> None:
    cases = [
        Case("source", Source(path), role="reference"),
        pair("write", "local", Write(lake, path, ["l_orderkey"]), lake, against="local"),
        pair("read", "local", Read(lake), lake, against="local"),
    ]
    samples = measure(cases, 2, lambda text: None).samples
    assert {sample.rows for sample in samples} == {100}
    assert len({str(sample.checksum) for sample in samples}) == 1
    with lake.connected() as store:
        assert [group.name for group in store.list_feature_groups()] == ["rows"]


def test_streams_agree_with_the_source(lake: Lake, path: Path) -> None:
    cases = [
        Case("source", Source(path), answer="written", role="reference"),
        Case("sums", SourceSums(path), answer="read", role="reference"),
        Case("write", StreamedWrite(lake, path, ["l_orderkey"]), answer="written", fresh=True),
        Case("read", StreamedRead(lake), answer="read", fresh=True),
    ]
    samples = measure(cases, 1, lambda text: None).samples
    assert all(sample.checksum is not None and sample.client_peak for sample in samples)


def test_other_rows_are_refused(lake: Lake, tmp_path: Path) -> None:
    other = source(tmp_path / "other.parquet", last=100)
    for reference, runner in ((Source(other), Read(lake)), (SourceSums(other), StreamedRead(lake))):
        cases = [Case("source", reference, role="reference"), Case("read", runner)]
        with pytest.raises(WrongResult, match="read and source do not give the same rows"):
            measure(cases, 1, lambda text: None)


def test_deltalake_alone_agrees_with_the_source(lake: Lake, path: Path) -> None:
    plain = dataclasses.replace(lake, uri=f"{lake.uri}-plain")
    Delta("read", plain, path, tunnel=False).fill()
    cases = [Case("source", Source(path), role="reference")]
    cases += [Case(op, Delta(op, plain, path, tunnel=False)) for op in ("write", "read")]
    assert {sample.rows for sample in measure(cases, 1, lambda text: None).samples} == {100}


def test_each_case_is_shown_against_its_own(lake: Lake, path: Path) -> None:
    cases = [pair("read", place, Read(lake), lake, against="local") for place in ("local", "there")]
    workload = Workload("w", "about", {}, "rows", (), (), 2, lambda _: cases)
    local, there = case_outcomes(workload, cases, measure(cases, 2, lambda text: None).samples)
    assert local.against == there.against == "read, local"
    assert local.ratio is not None
    assert local.ratio.value == 1
    assert there.ratio is not None
    assert there.server_cpu is None  # it has none
