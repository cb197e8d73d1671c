"""A NameNode that dies under a large read and under writes, and is followed by the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import acts
from faults.place import PATIENT, held_at, place
from integration.child import Child
from servers.hdfs import Hdfs

pytestmark = pytest.mark.slow

_LARGE = 4


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """What goes to DataNodes and back is encrypted."""
    settings = {"dfs.block.access.token.enable": True, "dfs.encrypt.data.transfer": True}
    with Hdfs(tmp_path_factory.mktemp("hdfs") / "hdfs", namenodes=2, **settings) as cluster:
        yield cluster


def test_nobody_notices(hdfs: Hdfs, tmp_path: Path) -> None:
    there = place(tmp_path, f"{hdfs.url}/{tmp_path.name}", {**hdfs.storage_options, **PATIENT})
    with there.connect() as store:
        group = there.group(store)
        for seed in range(1, 1 + _LARGE):
            group.insert(acts.large(seed), mode="append")
        there.group(store, "others")
    reader = Child(acts.read_on, there)
    assert reader.hear() == "begun"
    writers = Child(acts.loops, there, 0, 2, 1, "others")
    assert writers.hear() == "ready"
    hdfs.active.kill()
    reader.send("on")
    hdfs.failover()
    writers.send("more")
    assert writers.hear() == "done"
    writers.send("stop")
    told = writers.hear()
    found = reader.hear()
    for child in (reader, writers):
        child.join()
    assert sorted(found) == list(range(acts.LARGE, (1 + _LARGE) * acts.LARGE))
    assert [each.errors for each in told if each.errors] == []
    acts.check(held_at(there, "others"), told)
