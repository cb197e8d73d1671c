"""Several processes that write to one group at once: every write is whole, and in some order."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import headrace as hr
from integration import acts
from integration.child import Child

pytestmark = pytest.mark.slow

Call = tuple[str, range, int, str]


@pytest.fixture(params=["embedded", "remote"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each writer opens the folder itself, or all ask one service."""
    with hr.connect(tmp_path / "lake") as store:
        store.create_feature_group("numbers", primary_key=["id"], schema=acts.SCHEMA)
    if request.param == "embedded":
        yield tmp_path / "lake"
        return
    service = Child(acts.serve, tmp_path / "lake")
    yield service.hear()
    service.kill()


def content(target: Any) -> dict[int, list[int]]:
    """The values of each id, sorted."""
    found = defaultdict(list)
    with hr.connect(target) as store:
        table = store.get_feature_group("numbers").read().to_arrow()
    for key, value in zip(table["id"].to_pylist(), table["value"].to_pylist(), strict=True):
        found[key].append(value)
    return {key: sorted(values) for key, values in found.items()}


def replay(writes: list[tuple[int, Call]]) -> dict[int, list[int]]:
    """What writes leave that come one after the other, by snapshot."""
    held: dict[int, list[int]] = {}
    then = {0: held}
    for snapshot, (mode, ids, value, _) in sorted(writes):
        held = then[snapshot] = dict(then[value] if mode == "restore" else held)
        if mode in ("restore", "compact"):
            continue
        if mode == "overwrite":
            held.clear()
        for key in ids:
            if mode == "delete":
                held.pop(key, None)
            else:
                held[key] = [*held.get(key, []), value] if mode == "append" else [value]
    return {key: sorted(values) for key, values in held.items()}


def write_at_once(target: Any, calls: list[list[Call]]) -> list[tuple[int, Call]]:
    """Each list of calls in a process of its own; gives the calls that wrote, with their snapshots."""
    children = [Child(acts.several, target, theirs) for theirs in calls]
    for child in children:
        assert child.hear() == "ready"
    for child in children:
        child.send("go")
    written = []
    for child, theirs in zip(children, calls, strict=True):
        for call, (told, snapshot) in zip(theirs, child.hear(), strict=True):
            assert told in {"WRITE", "MERGE", "RESTORE", "OPTIMIZE", "NONE", "CONFLICT", "SNAPSHOT_NOT_FOUND"}
            if told in {"WRITE", "MERGE", "RESTORE", "OPTIMIZE"}:
                written.append((snapshot, call))
        child.join()
    return written


def check(target: Any, calls: list[list[Call]]) -> list[tuple[int, Call]]:
    written = write_at_once(target, calls)
    snapshots = [snapshot for snapshot, _ in written]
    assert len(set(snapshots)) == len(snapshots), "a snapshot each"
    assert content(target) == replay(written)
    return written


def test_upserts_of_the_same_keys(target: Any) -> None:
    calls = [
        [("upsert", range(n * 20, n * 20 + 50), who * 10 + n, uuid4().hex) for n in range(4)]
        for who in range(2)
    ]
    assert len(check(target, calls)) == 8, "two writers need not give up"


def test_appends(target: Any) -> None:
    calls = [[("append", range(30), who * 10 + n, uuid4().hex) for n in range(5)] for who in range(2)]
    assert len(check(target, calls)) == 10


def test_deletes_beside_upserts(target: Any) -> None:
    with hr.connect(target) as store:
        store.get_feature_group("numbers").insert(acts.rows(range(100), 0))
    start = (1, ("upsert", range(100), 0, ""))
    calls = [
        [("delete", range(n * 25, n * 25 + 10), 0, "") for n in range(4)],
        [("upsert", range(n * 25 + 5, n * 25 + 15), n + 1, uuid4().hex) for n in range(4)],
    ]
    written = write_at_once(target, calls)
    assert content(target) == replay([start, *written])
    assert len(written) >= 7, "an upsert may leave nothing to delete"


def test_restores_beside_appends(target: Any) -> None:
    """What an append added before a restore is gone, and what came after it is there."""
    calls = [
        [("append", range(n, n + 2), n, f"a{n}") for n in range(12)],
        [("restore", range(0), n, f"r{n}") for n in (0, 1, 3, 2, 5, 4)],
    ]
    written = check(target, calls)
    assert len([call for _, call in written if call[0] == "append"]) == 12


def test_compactions_beside_upserts(target: Any) -> None:
    calls = [
        [("upsert", range(n * 10, n * 10 + 25), n, uuid4().hex) for n in range(8)],
        [("compact", range(0), n % 2, "") for n in range(6)],
    ]
    written = check(target, calls)
    assert len([call for _, call in written if call[0] == "upsert"]) == 8


def test_four_writers_of_every_kind(target: Any) -> None:
    chance = random.Random(4)

    def call(who: int, number: int) -> Call:
        start = chance.randrange(80)
        mode = chance.choice(["upsert", "upsert", "append", "delete", "overwrite"])
        return mode, range(start, start + 40), who * 100 + number, uuid4().hex

    for _ in range(5):
        with hr.connect(target) as store:
            group = store.get_feature_group("numbers")
            snapshot = group.insert(acts.rows(range(1), 0), mode="overwrite").snapshot
        calls = [[call(who, number) for number in range(8)] for who in range(4)]
        written = write_at_once(target, calls)
        assert content(target) == replay([(snapshot, ("overwrite", range(1), 0, "")), *written])
        assert len(written) >= 24


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
def test_one_key_at_once_is_one_commit(target: Any, mode: str) -> None:
    calls = [[(mode, range(50), who, f"key{n}") for n in range(4)] for who in range(2)]
    children = [Child(acts.several, target, theirs) for theirs in calls]
    for child in children:
        child.hear()
    for child in children:
        child.send("go")
    first, second = (child.hear() for child in children)
    assert first == second
    assert len({snapshot for _, snapshot in first}) == 4
    assert len({*map(len, content(target).values())}) == 1
    assert len(content(target)[0]) == (4 if mode == "append" else 1)


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
@pytest.mark.parametrize("empty", [True, False])
def test_a_key_committed_while_another_still_gives_its_rows(target: Any, mode: str, empty: bool) -> None:
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        if not empty:
            group.insert(acts.rows(range(1000, 1001), 0))
        options = {"mode": mode, "idempotency_key": "once"}
        late = Child(acts.insert_half, target, range(50), 1, options)
        assert late.hear() == "half"
        commit = group.insert(acts.rows(range(50), 1), **options)
        late.send("go on")
        assert late.hear() == commit
        assert all(len(values) == 1 for values in content(target).values())
        assert len(group.history()) == 3 - empty


def test_the_first_insert_of_two(tmp_path: Path) -> None:
    """Without a schema, the first of two inserts sets it, and the other must fit it."""
    root = tmp_path / "lake"
    other = pa.table({"id": pa.array([1], pa.int64()), "name": ["x"]})
    with hr.connect(root) as store:
        group = store.create_feature_group("numbers", primary_key=["id"])
        late = Child(acts.insert_half, root, range(50), 1, {})
        assert late.hear() == "half"
        group.insert(other)
        late.send("go on")
        with pytest.raises(hr.Conflict, match="numbers@v1"):
            late.hear()
        assert group.read().to_arrow().equals(other)
        with pytest.raises(hr.SchemaMismatch):
            group.insert(acts.rows(range(50), 1))


@pytest.mark.parametrize("mode", ["upsert", "append"])
def test_a_group_deleted_while_rows_are_given(target: Any, mode: str) -> None:
    late = Child(acts.insert_half, target, range(50), 1, {"mode": mode})
    assert late.hear() == "half"
    with hr.connect(target) as store:
        store.delete_feature_group("numbers", 1)
        late.send("go on")
        with pytest.raises(hr.HeadraceError) as caught:
            late.hear()
        assert isinstance(caught.value, hr.Conflict | hr.NotFound), repr(caught.value)
        assert store.list_feature_groups() == []
        store.create_feature_group("numbers", primary_key=["id"], schema=acts.SCHEMA)
    assert content(target) == {}


def test_a_reader_sees_no_write_half(target: Any) -> None:
    """While ten snapshots of alike values are made, each read finds the values of one snapshot."""
    writer = Child(acts.several, target, [("overwrite", range(2000), n, "") for n in range(1, 2)])
    assert writer.hear() == "ready"
    writer.kill()
    calls: list[Call] = [("overwrite", range(2000), n, f"key{n}") for n in range(10)]
    writer = Child(acts.several, target, calls)
    writer.hear()
    writer.send("go")
    last = -1
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        while last < 9:
            table = group.read().to_arrow()
            if table.num_rows:
                (value,) = table["value"].unique().to_pylist()
                assert table.num_rows == 2000
                assert value >= last
                last = value
    writer.join()


def test_appends_beside_overwrites(target: Any) -> None:
    """An overwrite stands against an append that has begun, which begins again."""
    calls = [
        [("append", range(i, i + 1), 1, f"a{i}") for i in range(40)],
        [("overwrite", range(1000, 1010), 1, f"o{i}") for i in range(40)],
    ]
    written = check(target, calls)
    assert len([call for _, call in written if call[0] == "append"]) == 40
