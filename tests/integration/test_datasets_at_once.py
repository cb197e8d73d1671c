"""Training datasets beside everything that others do: what was made reads, and is recomputed, for ever after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from integration import acts, dataset_acts
from integration.child import Child


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
    changer = Child(dataset_acts.change_always, target, 1)
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
    assert at_once(target, 1, 4)["made"] > 0


@pytest.mark.slow
def test_two_makers(target: Any) -> None:
    assert at_once(target, 2, 40)["made"] > 1
