"""That the cluster of the tests is one: tables on it, and what becomes of them when its parts fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from servers.hdfs import Hdfs

pytestmark = pytest.mark.slow
ROWS = pa.table({"a": [1, 2, 3]})


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


def _write(hdfs: Hdfs, table: str) -> None:
    write_deltalake(f"{hdfs.url}/{table}", ROWS, mode="append", storage_options=hdfs.storage_options)


def _read(hdfs: Hdfs, table: str) -> pa.Table:
    return DeltaTable(f"{hdfs.url}/{table}", storage_options=hdfs.storage_options).to_pyarrow_table()


def test_a_table_outlives_its_servers(hdfs: Hdfs) -> None:
    _write(hdfs, "outlives")
    for daemon in [*hdfs.namenodes, *hdfs.datanodes]:
        daemon.kill()
    for daemon in [*hdfs.namenodes, *hdfs.datanodes]:
        daemon.start()
    hdfs.wait()
    assert _read(hdfs, "outlives").equals(ROWS)


def test_a_namenode_that_dies_is_followed_by_the_other(tmp_path: Path) -> None:
    settings = {
        "dfs.replication": 3,
        "dfs.block.access.token.enable": True,
        "dfs.encrypt.data.transfer": True,
    }
    with Hdfs(tmp_path / "hdfs", datanodes=3, namenodes=2, **settings) as hdfs:
        _write(hdfs, "followed")
        hdfs.active.kill()
        hdfs.failover()
        hdfs.datanodes[0].kill()
        assert _read(hdfs, "followed").equals(ROWS)
        dead = next(node for node in hdfs.namenodes if not node.running)
        dead.start()
        hdfs.wait()
        hdfs.failover()
        _write(hdfs, "followed")
        assert _read(hdfs, "followed").num_rows == 6
