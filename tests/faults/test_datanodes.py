"""DataNodes that die under a write, or have no room for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
from faults import acts
from faults.place import Place, held_at, place
from integration.child import Child
from servers.hdfs import DataNode, Hdfs

pytestmark = pytest.mark.slow

_NO_ROOM = {"dfs.datanode.du.reserved": 1 << 60}
_ROOM = {"dfs.datanode.du.reserved": 0}


@pytest.fixture(scope="module", params=[3, 2])
def hdfs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """Of three DataNodes, with so many copies of each block."""
    with Hdfs(
        tmp_path_factory.mktemp("hdfs") / "hdfs", datanodes=3, **{"dfs.replication": request.param}
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("small") / "hdfs") as cluster:
        yield cluster


def empty(hdfs: Hdfs, folder: Path) -> Place:
    made = place(folder, f"hdfs://{hdfs.namenode}/{folder.name}", {})
    with made.connect() as store:
        made.group(store)
    return made


def writing(hdfs: Hdfs) -> DataNode:
    """A DataNode that has begun to write a block of more than a megabyte."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for datanode in hdfs.datanodes:
            for block in datanode.data.rglob("rbw/blk_*"):
                try:
                    if block.stat().st_size > 1 << 20:
                        return datanode
                except FileNotFoundError:
                    continue
    raise TimeoutError("nothing is written")


def until_written(child: Child) -> None:
    """Tries again, with the same key, while the NameNode still names a DataNode that is gone to who writes."""
    deadline = time.monotonic() + 60
    while isinstance(came := child.hear()[0], hr.HeadraceError):
        assert isinstance(came, hr.Unavailable | hr.OutcomeUnknown), repr(came)
        assert time.monotonic() < deadline
        time.sleep(1)
        child.send("go")


def test_one_dies_under_a_write(hdfs: Hdfs, tmp_path: Path) -> None:
    """The file is written with the others; the commit may fail, and leaves the old snapshot then."""
    there = empty(hdfs, tmp_path)
    child = Child(acts.call, there, "large", (1,), {})
    assert child.hear() == "ready"
    child.send("go")
    victim = writing(hdfs)
    victim.kill()
    until_written(child)
    child.send("end")
    child.join()
    victim.start()
    hdfs.wait()
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        found = group.read().to_arrow().sort_by("id")
        assert found.equals(acts.large(1).cast(found.schema))
        assert len(group.history()) == 2


def test_all_die_under_a_write(small: Hdfs, tmp_path: Path) -> None:
    """There is one alone, which holds the log, too: nobody knows what became of the write, until it is tried again."""
    there = empty(small, tmp_path)
    with there.connect() as store:
        acts.CALLS["append"](store.get_feature_group("numbers"), 0)
    child = Child(acts.call, there, "large", (1,), {})
    assert child.hear() == "ready"
    child.send("go")
    victim = writing(small)
    victim.kill()
    came, seconds = child.hear()
    victim.start()
    small.wait()
    assert isinstance(came, hr.Unavailable | hr.OutcomeUnknown), repr(came)
    assert seconds < 60
    assert sum(held_at(there).values()) == acts.ROWS
    child.send("go")
    assert child.hear()[0].snapshot == 2
    child.send("end")
    child.join()
    with there.connect() as store:
        assert store.get_feature_group("numbers").read().to_arrow().num_rows == acts.LARGE + acts.ROWS


def test_one_dies_between_reads(hdfs: Hdfs, tmp_path: Path) -> None:
    there = empty(hdfs, tmp_path)
    with there.connect() as store:
        store.get_feature_group("numbers").insert(acts.large(1), mode="append")
    child = Child(acts.read_on, there)
    assert child.hear() == "begun"
    hdfs.datanodes[0].kill()
    child.send("on")
    found = child.hear()
    child.join()
    hdfs.datanodes[0].start()
    hdfs.wait()
    assert sorted(found) == acts.large(1)["id"].to_pylist()


def restarted(hdfs: Hdfs, settings: dict[str, object]) -> None:
    hdfs.configure(settings)
    for datanode in hdfs.datanodes:
        datanode.kill()
        datanode.start()
    hdfs.wait()
    none = settings is _NO_ROOM
    hdfs.active.wait(lambda: (hdfs.active.room == 0) is none)


@pytest.mark.parametrize(
    ("what", "error"), [("no DataNode has room", hr.Unavailable), ("a quota is used up", hr.LimitExceeded)]
)
def test_a_storage_that_is_full(
    small: Hdfs, tmp_path: Path, what: str, error: type[hr.HeadraceError]
) -> None:
    """The NameNode does not say whether DataNodes are full or away."""
    there = empty(small, tmp_path)
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        acts.CALLS["append"](group, 0)
        old = held_at(there)
        folder = f"/{tmp_path.name}"
        if what == "a quota is used up":
            small.admin("-setSpaceQuota", "1m", folder)
        else:
            restarted(small, _NO_ROOM)
        try:
            with pytest.raises(error) as caught:
                acts.CALLS["append"](group, 1)
            assert "\tat " not in caught.value.message
            assert held_at(there) == old
        finally:
            if what == "a quota is used up":
                small.admin("-clrSpaceQuota", folder)
            else:
                restarted(small, _ROOM)
        assert acts.CALLS["append"](group, 1).snapshot == 2
        assert sum(held_at(there).values()) == 2 * acts.ROWS
