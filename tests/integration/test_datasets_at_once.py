"""Training datasets and feeds of changes beside everything that others do.

What was made reads, and is recomputed, for ever after; a copy that follows the changes is the table.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from integration import acts, dataset_acts
from integration.child import Child
from tries import tries

pytestmark = pytest.mark.slow


@pytest.fixture(params=["embedded", "remote"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each process opens the folder itself, or all ask one service."""
    dataset_acts.build(tmp_path / "lake")
    if request.param == "embedded":
        yield tmp_path / "lake"
        return
    service = Child(acts.serve, tmp_path / "lake")
    yield service.hear()
    service.kill()


def at_once(target: Any, makers: int, seconds: float) -> Counter[str]:
    """Datasets made beside changes; how many were."""
    changer = Child(dataset_acts.change_always, target, 1, [*dataset_acts.WRITES, "vacuum", "vacuum"])
    children = [changer, *(Child(dataset_acts.make_datasets, target, n, seconds) for n in range(makers))]
    for child in children:
        assert child.hear() == "ready"
    for child in children:
        child.send("go")
    told = sum((child.hear() for child in children[1:]), Counter())
    changer.send("stop")
    changer.hear()
    for child in children:
        child.join()
    with hr.connect(target) as store:
        group, view = store.get_feature_group("numbers"), store.get_feature_view("view")
        for _ in range(2):
            datasets = view.list_training_datasets()
            assert len(datasets) == told["made"]
            assert [d.version for d in datasets] == list(range(1, len(datasets) + 1))
            for dataset in datasets:
                assert dataset_acts.same(dataset), dataset
            group.compact()
            group.insert(dataset_acts.numbers(range(5), 7), mode="overwrite")
            group.vacuum(retention_hours=0, dry_run=False)
        assert group.read().to_arrow().num_rows == 5
    return told


def test_they_stay_what_they_were(target: Any) -> None:
    assert at_once(target, 1, tries(12, 6))["made"] > 0


def test_two_makers(target: Any) -> None:
    assert at_once(target, 2, tries(20, 10))["made"] > 1


def follow(target: Any, changers: int, seconds: float) -> int:
    """A copy of the table, brought up to date over and over; how many commits it has seen."""
    children = [
        Child(dataset_acts.change_always, target, seed, dataset_acts.WRITES) for seed in range(changers)
    ]
    for child in children:
        assert child.hear() == "ready"
    for child in children:
        child.send("go")
    copy, seen, end = Counter[tuple[int, int]](), -1, time.monotonic() + seconds
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        while children or group.read().snapshots["numbers@v1"] > seen:
            changes = group.changes(seen)
            apply(copy, changes.to_arrow())
            seen = changes.snapshots["numbers@v1"]
            assert copy == dataset_acts.held(group, seen)
            if time.monotonic() > end:
                for child in children:
                    child.send("stop")
                    child.hear()
                    child.join()
                children = []
        whole = Counter[tuple[int, int]]()
        apply(whole, group.changes(-1).to_arrow())
        assert whole == copy == dataset_acts.held(group)
    return seen


def apply(copy: Counter[tuple[int, int]], changes: pa.Table) -> None:
    """Changes come in the order of the commits, and of each first what it takes away."""
    versions = changes["_commit_version"].to_pylist()
    assert versions == sorted(versions)
    for row in changes.select(["_change_type", "id", "value"]).to_pylist():
        kind, key, value = row.values()
        copy[key, value] += 1 if kind in ("insert", "update_postimage") else -1
        assert copy[key, value] >= 0, "what was not there is not taken away"
    for key in [key for key, number in copy.items() if number == 0]:
        del copy[key]


def test_a_copy_follows_the_changes(target: Any) -> None:
    assert follow(target, 1, 3) > 6


def test_a_copy_follows_several_writers(target: Any) -> None:
    assert follow(target, 2, tries(30)) > 6
