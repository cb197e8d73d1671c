"""Processes that are killed while they make training datasets, or keep a table up: all of it is there, or nothing."""

from __future__ import annotations

import contextlib
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from integration import acts, dataset_acts
from integration.child import Child, files_made
from integration.dataset_acts import ROWS, SPLITS, held, numbers
from tries import tries

pytestmark = pytest.mark.slow

NOW = {(i, int(i < 200)): 1 for i in range(ROWS)}
THEN = {(i, 0): 1 for i in range(2000)}
DATASETS = ["dataset", "dataset of a spine"]
DELETIONS = ["deletion", "deletion of the view"]
UPKEEP = ["compact", "vacuum", "restore"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to copy, with one dataset, of snapshot 2."""
    root = tmp_path_factory.mktemp("datasets") / "lake"
    dataset_acts.build(root)
    with hr.connect(root) as store:
        view = store.get_feature_view("view")
        then = store.get_feature_group("numbers").history()[4].timestamp
        assert view.create_training_dataset(as_of=then).snapshots == {"numbers@v1": 2}
    return root


@pytest.fixture
def lake(template: Path, tmp_path: Path) -> Callable[[], Path]:
    """A new copy at each call."""
    copies = iter(range(1000))
    return lambda: Path(shutil.copytree(template, tmp_path / f"lake{next(copies)}"))


def check(root: Path, left: int = 0) -> list[int]:
    """After a kill: nothing is half there, and everything goes on. The versions of the datasets that are there.

    Args:
        left: folders of what was deleted may be there still.
    """
    with hr.connect(root) as store:
        assert not list((root / ".headrace" / "unregistered").glob("*"))
        assert len(scratch(root)) == 1, "what a killed process has put down is swept"
        check_table(store.get_feature_group("numbers"))
        versions = [check_view(view, root, left) for view in store.list_feature_views()]
        check_upkeep(store.get_feature_group("numbers"))
        for view in store.list_feature_views():
            for dataset in view.list_training_datasets():
                check_dataset(dataset)
                view.delete_training_dataset(dataset.version)
                assert not Path(dataset.location).exists()
        if versions:
            store.delete_feature_view("view", 1)
    assert scratch(root) == []
    return versions[0] if versions else []


def scratch(root: Path) -> list[Path]:
    return list((root / ".headrace").glob("scratch-*"))


def check_table(group: hr.FeatureGroup) -> None:
    assert held(group) in (NOW, THEN)
    for commit in group.history():
        if commit.operation in ("OPTIMIZE", "VACUUM START", "VACUUM END"):
            with contextlib.suppress(hr.SnapshotNotFound):  # as of what a vacuum has removed
                assert held(group, commit.snapshot) == held(group, commit.snapshot - 1)
    assert group.changes(group.read().snapshots["numbers@v1"]).to_arrow().num_rows == 0


def check_view(view: hr.FeatureView, root: Path, left: int) -> list[int]:
    datasets = view.list_training_datasets()
    for dataset in datasets:
        check_dataset(dataset)
    there = {path for path in (root / "default").iterdir() if path.name.startswith("view_")}
    assert len(there - {Path(dataset.location) for dataset in datasets}) <= left
    made = view.create_training_dataset(splits=SPLITS)
    assert made.version == max((d.version for d in datasets), default=made.version - 1) + 1
    check_dataset(made)
    return [dataset.version for dataset in datasets]


def check_dataset(dataset: hr.TrainingDataset) -> None:
    rows = dataset.read().to_arrow()
    assert rows.equals(dataset.recompute().to_arrow())
    assert rows.num_rows == sum(dataset.rows.values()) == (1000 if "note" in rows.schema.names else len(rows))
    for split, number in dataset.rows.items():
        assert dataset.read(split).to_arrow().num_rows == number
    if "note" in rows.schema.names:
        assert sorted(rows["id"].to_pylist()) == list(range(1000))
    elif dataset.version == 1:
        assert rows["id"].to_pylist() == list(range(1500))


def check_upkeep(group: hr.FeatureGroup) -> None:
    """Whatever was begun is done once more, and changes no row."""
    rows = held(group)
    group.compact()
    group.vacuum(retention_hours=0, dry_run=False)
    assert held(group) == rows
    group.insert(numbers(range(5000, 5100), 7))
    assert held(group) == rows | {(i, 7): 1 for i in range(5000, 5100)}
    assert group.vacuum(retention_hours=0, dry_run=False) == []


def kill_at(root: Path, name: str, files: int, later: float) -> list[int]:
    child = Child(dataset_acts.act, root, name)
    assert child.hear() == "ready"
    child.send("go")
    child.kill_when(files_made(root, files, later))
    return check(root, left=int(name in DELETIONS))


def die(root: Path, name: str, step: str, when: str) -> None:
    child = Child(dataset_acts.die, root, name, step, when)
    assert child.hear() == "ready"
    child.send("go")
    with pytest.raises(EOFError):
        child.hear()
    child.kill()  # it is dying


@pytest.mark.parametrize("name", [*DATASETS, *DELETIONS, *UPKEEP])
def test_at_the_first_file_and_some_way_on(lake: Callable[[], Path], name: str) -> None:
    for files, later in [(1, 0.0), (4, 0.003)]:
        kill_at(lake(), name, files, later)


@pytest.mark.parametrize("name", [*DATASETS, *DELETIONS, *UPKEEP, "zorder"])
def test_anywhere(lake: Callable[[], Path], name: str) -> None:
    chance = random.Random(name)
    for _ in range(tries(12)):
        kill_at(lake(), name, chance.randrange(9), chance.uniform(0, 0.06))


@pytest.mark.parametrize(
    ("name", "step", "when", "versions"),
    [
        ("dataset", "a file", "after", [1]),
        ("dataset of a spine", "the spine", "after", [1]),
        ("dataset of a spine", "the move", "after", [1]),
        ("dataset", "the registration", "before", [1]),
        ("dataset", "the registration", "after", [1, 2]),
        ("deletion", "the removal from the registry", "after", []),
        ("deletion of the view", "the removal of the view", "after", []),
        ("deletion of the view", "the removal of the files", "after", []),
        ("compact", "the compaction", "after", [1]),
        ("vacuum", "the vacuum", "after", [1]),
        ("restore", "the restore", "before", [1]),
        ("restore", "the restore", "after", [1]),
    ],
)
def test_between_steps(
    lake: Callable[[], Path], name: str, step: str, when: str, versions: list[int]
) -> None:
    root = lake()
    die(root, name, step, when)
    assert check(root, left=int(name in DELETIONS)) == versions


def test_a_restore_that_was_committed_is_not_done_again(lake: Callable[[], Path]) -> None:
    root = lake()
    die(root, "restore", "the restore", "after")
    with hr.connect(root) as store:
        group = store.get_feature_group("numbers")
        group.insert(numbers(range(9000, 9001), 1))
        commit = group.restore(3, idempotency_key="once")
        assert (commit.snapshot, commit.operation) == (7, "RESTORE")
        assert held(group) == THEN | {(9000, 1): 1}


@pytest.mark.parametrize("name", DATASETS)
def test_a_service(lake: Callable[[], Path], name: str) -> None:
    root = lake()
    for files, later in [(2, 0.0), (7, 0.0)]:
        service = Child(acts.serve, root)
        url = service.hear()
        client = Child(dataset_acts.act, url, name)
        client.hear()
        client.send("go")
        service.kill_when(files_made(root, files, later))
        with contextlib.suppress(hr.Unavailable, hr.OutcomeUnknown):
            client.hear()
    check(root)


@pytest.fixture
def large(tmp_path: Path) -> tuple[Path, str, Child]:
    """A served store, of whose view a dataset takes seconds to be made."""
    root = tmp_path / "large"
    dataset_acts.build(root)
    with hr.connect(root) as store:
        group = store.get_feature_group("numbers")
        times = pa.array(range(2_000_000), pa.timestamp("us", "UTC"))
        ids = pa.array(range(2_000_000), pa.int64())
        group.insert(pa.table({"id": ids, "at": times, "value": ids}), mode="overwrite")
    service = Child(acts.serve, root)
    return root, service.hear(), service


@pytest.mark.parametrize("written", [False, True], ids=["no file yet", "some files"])
def test_a_client_of_a_service(large: tuple[Path, str, Child], written: bool) -> None:
    """The service stops making what nobody would know of."""
    root, url, service = large
    client = Child(dataset_acts.act, url, "large dataset")
    client.hear()
    client.send("go")
    if written:
        client.kill_when(any(root.glob(".headrace/scratch-*/*/all/*")) for _ in iter(int, 1))
    else:
        client.kill_when(files_made(root, 1, 0.2))
    killed = time.monotonic()
    with hr.connect(url) as store:
        view = store.get_feature_view("view")
        # Beside the file by which each process that is there holds its own.
        while any(path.name != "held" for path in root.glob(".headrace/scratch-*/*")):
            assert time.monotonic() - killed < 20
            time.sleep(0.02)
        assert view.list_training_datasets() == []
        made = view.create_training_dataset(end="1970-01-01T00:00:01Z")
        assert (made.version, made.rows) == (1, {"all": 1_000_000})
        assert made.read().to_arrow().equals(made.recompute().to_arrow())
    service.send("stop")
    service.join()
