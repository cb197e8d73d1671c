"""Processes that are killed while they write: the table is at its old snapshot or at the new one."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from integration import acts
from integration.child import Child, files_made
from tries import tries

pytestmark = pytest.mark.slow

OLD = acts.rows(range(1000), 0)
KEY = {"idempotency_key": "once"}

# The write that is killed, and the rows that it makes of the old ones.
WRITES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], pa.Table]] = {
    "upsert of new keys": (
        acts.insert,
        (range(1000, 3000), 1, KEY),
        pa.concat_tables([OLD, acts.rows(range(1000, 3000), 1)]),
    ),
    "upsert of old keys": (
        acts.insert,
        (range(500), 1, KEY),
        pa.concat_tables([acts.rows(range(500), 1), acts.rows(range(500, 1000), 0)]),
    ),
    "append": (
        acts.insert,
        (range(500), 1, {"mode": "append", **KEY}),
        pa.concat_tables([OLD, acts.rows(range(500), 1)]),
    ),
    "overwrite": (acts.insert, (range(500), 1, {"mode": "overwrite", **KEY}), acts.rows(range(500), 1)),
    "delete": (acts.delete, (500,), acts.rows(range(500, 1000), 0)),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to copy: a group with rows, and one without."""
    root = tmp_path_factory.mktemp("killed") / "lake"
    with hr.connect(root) as store:
        store.create_feature_group("numbers", primary_key=["id"], schema=acts.SCHEMA).insert(OLD)
    return root


@pytest.fixture
def lake(template: Path, tmp_path: Path) -> Callable[[], Path]:
    """A new copy at each call."""
    copies = iter(range(1000))
    return lambda: Path(shutil.copytree(template, tmp_path / f"lake{next(copies)}"))


def content(group: Any) -> list[tuple[int, int]]:
    """Sorted, and with rows that are there twice twice."""
    table = group.read().to_arrow()
    return sorted(zip(table["id"].to_pylist(), table["value"].to_pylist(), strict=True))


def pairs(table: pa.Table) -> list[tuple[int, int]]:
    return sorted(zip(table["id"].to_pylist(), table["value"].to_pylist(), strict=True))


def scratch(root: Path) -> list[Path]:
    return list((root / ".headrace").glob("scratch-*"))


def check(root: Path, write: str) -> bool:
    """After a kill: one of two snapshots, a retry that makes exactly one write, nothing left. True if written."""
    act, arguments, new = WRITES[write]
    with hr.connect(root) as store:
        assert len(scratch(root)) == 1, "what a killed process has put down is swept"
        group = store.get_feature_group("numbers")
        found = content(group)
        written = found != pairs(OLD)
        if written:
            assert found == pairs(new)
        commits = len(group.history())
        if act is acts.delete:
            group.delete(filter=group["id"] < arguments[0])
        else:
            ids, value, options = arguments
            group.insert(acts.rows(ids, value), **options)
        assert content(group) == pairs(new)
        assert len(group.history()) == commits + (not written)
    assert scratch(root) == []
    return written


def kill_at(root: Path, write: str, files: int, later: float) -> bool:
    act, arguments, _ = WRITES[write]
    child = Child(act, root, *arguments)
    assert child.hear() == "ready"
    child.send("go")
    child.kill_when(files_made(root, files, later))
    return check(root, write)


@pytest.mark.parametrize("write", WRITES)
def test_at_the_first_file_and_some_way_on(lake: Callable[[], Path], write: str) -> None:
    for files, later in [(1, 0.0), (2, 0.002)]:
        kill_at(lake(), write, files, later)


@pytest.mark.parametrize("write", WRITES)
def test_anywhere(lake: Callable[[], Path], write: str) -> None:
    chance = random.Random(write)
    for _ in range(tries(12)):
        kill_at(lake(), write, chance.randrange(5), chance.uniform(0, 0.05))


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
def test_with_half_of_the_rows_given(lake: Callable[[], Path], mode: str) -> None:
    root = lake()
    child = Child(acts.insert_half, root, range(2000, 500_000), 1, {"mode": mode, **KEY})
    assert child.hear() == "half"
    child.kill()
    with hr.connect(root) as store:
        group = store.get_feature_group("numbers")
        assert content(group) == pairs(OLD)
        assert len(scratch(root)) == 1
        assert group.insert(acts.rows(range(2000, 2100), 1), mode=mode, **KEY).rows_inserted == 100


def test_what_runs_keeps_its_scratch(lake: Callable[[], Path]) -> None:
    root = lake()
    child = Child(acts.insert_half, root, range(2000, 2100), 1, KEY)
    assert child.hear() == "half"
    (held,) = scratch(root)
    hr.connect(root).close()
    assert scratch(root) == [held]
    child.send("go on")
    assert child.hear().rows_inserted == 100
    child.join()


def first_insert(root: Path, files: int, later: float) -> None:
    with hr.connect(root) as store:
        store.create_feature_group("numbers", primary_key=["id"])
    child = Child(acts.insert, root, range(500), 1, KEY)
    assert child.hear() == "ready"
    child.send("go")
    child.kill_when(files_made(root, files, later))
    with hr.connect(root) as store:
        group = store.get_feature_group("numbers")
        written = group.schema is not None
        if written:
            assert content(group) == pairs(acts.rows(range(500), 1))
        group.insert(acts.rows(range(500), 1), **KEY)
        assert content(group) == pairs(acts.rows(range(500), 1))
        assert len(group.history()) == 1


def test_in_a_first_insert(tmp_path: Path) -> None:
    for files, later in [(1, 0.0), (3, 0.001)]:
        first_insert(tmp_path / f"lake{files}", files, later)


def test_anywhere_in_a_first_insert(tmp_path: Path) -> None:
    chance = random.Random("first")
    for number in range(tries(15)):
        first_insert(tmp_path / f"lake{number}", chance.randrange(6), chance.uniform(0, 0.03))


def create(root: Path, files: int, later: float) -> None:
    hr.connect(root).close()
    child = Child(acts.create_group, root)
    assert child.hear() == "ready"
    child.send("go")
    child.kill_when(files_made(root, files, later))
    with hr.connect(root) as store:
        made = store.list_feature_groups()
        assert all(group.schema == acts.SCHEMA for group in made)
        group = store.get_or_create_feature_group("numbers", primary_key=["id"], schema=acts.SCHEMA)
        assert group.insert(acts.rows(range(3), 1)).rows_inserted == 3
        assert group.schema == acts.SCHEMA


def test_in_the_creation_of_a_group(tmp_path: Path) -> None:
    for files, later in [(1, 0.0), (3, 0.0)]:
        create(tmp_path / f"lake{files}", files, later)


def test_anywhere_in_the_creation_of_a_group(tmp_path: Path) -> None:
    chance = random.Random("create")
    for number in range(tries(15)):
        create(tmp_path / f"lake{number}", chance.randrange(5), chance.uniform(0, 0.02))


def delete_group(root: Path, later: float) -> bool:
    child = Child(acts.delete_group, root)
    assert child.hear() == "ready"
    child.send("go")
    child.kill_when(files_made(root, 0, later))
    with hr.connect(root) as store:
        found = store.list_feature_groups()
        for group in found:
            assert content(group) == pairs(OLD)
            store.delete_feature_group("numbers", 1)
        group = store.create_feature_group("numbers", primary_key=["id"], version=1)
        assert group.insert(acts.rows(range(3), 1)).rows_inserted == 3
        assert content(group) == pairs(acts.rows(range(3), 1))
        return not found


def test_in_the_deletion_of_a_group(lake: Callable[[], Path]) -> None:
    for later in (0.0, 0.005):
        delete_group(lake(), later)


def test_anywhere_in_the_deletion_of_a_group(lake: Callable[[], Path]) -> None:
    chance = random.Random("delete")
    for _ in range(tries(20)):
        delete_group(lake(), chance.uniform(0, 0.02))


class Client(Thread):
    """Runs one call, and keeps what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__()
        self._call = call
        self.outcome: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self._call()
        except Exception as error:
            self.outcome = error


def kill_service(root: Path, write: str, files: int, later: float) -> bool:
    """As `kill_at`, the service; its client gets the commit, or is told that nothing is certain."""
    act, arguments, _ = WRITES[write]
    service = Child(acts.serve, root)
    with hr.connect(service.hear()) as store:
        group = store.get_feature_group("numbers")
        if act is acts.delete:
            client = Client(lambda: group.delete(filter=group["id"] < arguments[0]))
        else:
            ids, value, options = arguments
            client = Client(lambda: group.insert(acts.rows(ids, value), **options))
        service.kill_when(come or not client.is_alive() for come in files_made(root, files, later))
        client.join(60)
    written = check(root, write)
    if isinstance(client.outcome, Exception):
        assert isinstance(client.outcome, hr.Unavailable | hr.OutcomeUnknown), repr(client.outcome)
        if isinstance(client.outcome, hr.OutcomeUnknown) and act is not acts.delete:
            assert client.outcome.details == KEY
        else:
            assert not written or act is acts.delete
    else:
        assert written
    return written


@pytest.mark.parametrize("write", ["upsert of new keys", "append"])
def test_a_service(lake: Callable[[], Path], write: str) -> None:
    kill_service(lake(), write, 2, 0.001)


@pytest.mark.parametrize("write", WRITES)
def test_a_service_anywhere(lake: Callable[[], Path], write: str) -> None:
    chance = random.Random(write)
    for _ in range(tries(10)):
        kill_service(lake(), write, chance.randrange(5), chance.uniform(0, 0.05))
