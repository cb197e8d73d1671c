"""Clients that are killed between their files and what makes these count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake._internal import DeltaFileSystemHandler

import headrace as hr
from faults import acts
from faults.place import Place, held_at, place
from integration import dataset_acts
from integration.child import Child
from servers.hdfs import Hdfs
from servers.pki import Pki
from servers.s3 import S3
from servers.tls_front import TlsFront

pytestmark = pytest.mark.slow

_EVENTS = 100


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs") / "hdfs") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with S3(tmp_path_factory.mktemp("s3")) as server:
        yield server


def files(root: str, options: dict[str, str]) -> list[str]:
    """Paths below a root."""
    handler = DeltaFileSystemHandler(root, options)
    return sorted(info.path for info in handler.get_file_info_selector("", True, True))


def filled(there: Place) -> Place:
    """A group of some rows, and another with a view."""
    with there.connect() as store:
        acts.CALLS["append"](there.group(store), 0)
        events = store.create_feature_group("events", primary_key=["id"], event_time="at")
        events.insert(dataset_acts.numbers(range(_EVENTS), 0))
        store.create_feature_view("events", events.select())
    return there


def test_between_the_files_and_the_commit(hdfs: Hdfs, tmp_path: Path) -> None:
    """The commit is held up before the NameNode hears of it, as long as the client lives."""
    pki = Pki(tmp_path / "pki")
    with TlsFront(hdfs.namenode, pki.server(), tmp_path / "front.log") as front:
        tls = hr.TLS.from_dir(pki.client())
        there = filled(place(tmp_path, f"hopsfs://{front.address}/{tmp_path.name}", {}, tls))
        before, old = files(f"{hdfs.url}/{tmp_path.name}", hdfs.storage_options), held_at(there)
        child = Child(acts.call, there, "append", (1,), {})
        assert child.hear() == "ready"
        front.drop(b"rename", b"_delta_log", at="request", stall=True)
        child.send("go")
        deadline = time.monotonic() + 60
        while not front.counts()["dropped"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        child.kill()
        front.mend()
        left = set(files(f"{hdfs.url}/{tmp_path.name}", hdfs.storage_options)) - set(before)
        assert len([path for path in left if path.endswith(".parquet")]) == 1
        assert held_at(there) == old
        with there.connect() as store:
            group = store.get_feature_group("numbers")
            gone = group.vacuum(retention_hours=0, dry_run=False)
            assert [path.rpartition("/")[2] for path in gone] == [
                path.rpartition("/")[2] for path in left if path.endswith(".parquet")
            ]
            assert held_at(there) == old
            assert acts.CALLS["append"](group, 1).rows_inserted == acts.ROWS
        assert sum(held_at(there).values()) == 2 * acts.ROWS
        after = files(f"{hdfs.url}/{tmp_path.name}", hdfs.storage_options)
        # Under a hidden name the library writes an entry before it renames it; a new one of that version replaces it.
        assert {path.rpartition("/")[2][:1] for path in left & set(after)} <= {"."}


@pytest.mark.parametrize(
    ("step", "when"),
    [("a file", "before"), ("a file", "after"), ("the move", "after"), ("the registration", "after")],
)
@pytest.mark.parametrize("kind", ["hdfs", "s3"])
def test_while_a_training_dataset_is_uploaded(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, step: str, when: str
) -> None:
    """The next one to connect removes what is left of one that nobody knows; one that is known is whole."""
    server = request.getfixturevalue(kind)
    there = filled(
        place(
            tmp_path,
            f"{server.url}/{tmp_path.name}",
            server.storage_options,
        )
    )
    before = files(there.uri, server.storage_options)
    child = Child(acts.dies, there, "dataset", step, when)
    assert child.hear() == "ready"
    child.send("go")
    child.kill_when(iter(lambda: False, None))
    with there.connect() as store:
        view = store.get_feature_view("events")
        datasets = view.list_training_datasets()
        assert len(datasets) == (step == "the registration")
        if not datasets:
            assert files(there.uri, server.storage_options) == before
        made = view.create_training_dataset(splits={"train": 0.5, "test": 0.5})
        for dataset in [*datasets, made]:
            assert dataset.read().to_arrow().num_rows == _EVENTS
