"""Training datasets whose view, groups and files change while they are made: whole and right, or not there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import headrace as hr
from headrace.config import store_config
from headrace.model.dataset import DatasetDefinition, Split
from headrace.model.request import ReadRequest
from headrace.service.project import ProjectStore
from headrace.service.store import Store

ROWS = pa.table(
    {"id": range(100), "at": pa.array(range(100), pa.timestamp("us", "UTC")), "value": [0.5] * 100}
)
OTHERS = ROWS.set_column(2, "value", pa.array([1.5] * 100))
ASKED = DatasetDefinition(
    name="view@v1",
    version=0,
    request=ReadRequest(kind="training", view="view@v1"),
    splits=(Split("all"),),
    format="parquet",
    key="k",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def users(root: Path) -> Iterator[hr.FeatureStore]:
    """The store as somebody else uses it: with a group, and a view of it."""
    with hr.connect(root) as store:
        group = store.create_feature_group("numbers", primary_key=["id"], event_time="at")
        group.insert(ROWS)
        store.create_feature_view("view", group.select())
        yield store


@pytest.fixture
def project(users: hr.FeatureStore, root: Path) -> Iterator[ProjectStore]:
    with Store(store_config(str(root))) as store:
        yield store.project("default")


def replace_view(users: hr.FeatureStore) -> None:
    users.delete_feature_view("view", 1)
    query = users.get_feature_group("numbers").select("id", "value")
    users.create_feature_view("view", query, version=1)


def replace_group(users: hr.FeatureStore) -> None:
    users.delete_feature_group("numbers", 1, force=True)
    users.create_feature_group("numbers", primary_key=["id"], event_time="at", version=1).insert(OTHERS)


def replace_rows(users: hr.FeatureStore) -> None:
    group = users.get_feature_group("numbers")
    group.insert(OTHERS, mode="overwrite")
    group.vacuum(retention_hours=0, dry_run=False)


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        (lambda users: users.delete_feature_view("view", 1), hr.NotFound, "no feature view view@v1"),
        (replace_view, hr.NotFound, "view@v1 was deleted meanwhile, and made again"),
        (
            lambda users: users.delete_feature_group("numbers", 1, force=True),
            hr.NotFound,
            "numbers@v1|deleted meanwhile",
        ),
        (replace_group, hr.NotFound, "numbers@v1 was deleted meanwhile"),
        (replace_rows, (hr.Conflict, hr.CorruptTable), "numbers@v1|cannot be read"),
    ],
    ids=["no view", "another view", "no group", "another group", "vacuumed"],
)
@pytest.mark.parametrize("late", [False, True], ids=["before the rows", "after them"])
def test_what_it_is_made_of_goes_meanwhile(
    users: hr.FeatureStore,
    project: ProjectStore,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any], None],
    error: Any,
    told: str,
    late: bool,
) -> None:
    writing = project.start_dataset(ASKED)
    if late:
        run = writing.run

        def changed(*arguments: Any) -> DatasetDefinition:
            written = run(*arguments)
            change(users)
            return written

        monkeypatch.setattr(writing, "run", changed)
    else:
        change(users)
    with pytest.raises(error, match=told):
        project.make_dataset(writing, None)
    assert project.list_datasets("view@v1") == []
    assert not [path for path in (root / "default").iterdir() if path.name.startswith("view_")]
    assert {path.name for path in root.glob(".headrace/scratch-*/*")} == {"held"}


def test_what_comes_meanwhile_is_not_in_it(users: hr.FeatureStore, project: ProjectStore) -> None:
    writing = project.start_dataset(ASKED)
    users.get_feature_group("numbers").insert(OTHERS)
    made = project.make_dataset(writing, None)
    assert made.snapshots == {"numbers@v1": 0}
    dataset = users.get_feature_view("view").get_training_dataset(1)
    assert set(dataset.read().to_arrow()["value"].to_pylist()) == {0.5}
    assert dataset.read().to_arrow().equals(dataset.recompute().to_arrow())


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_it_is_deleted_while_it_is_read(users: hr.FeatureStore, form: Any) -> None:
    view = users.get_feature_view("view")
    made = view.create_training_dataset(splits={"a": 0.5, "b": 0.5}, format=form)
    reader, result = made.read().to_reader(), made.read()
    assert reader.read_next_batch().num_rows == 50
    view.delete_training_dataset(1)
    for read in (reader.read_next_batch, result.to_arrow, made.recompute):
        with pytest.raises(hr.NotFound, match="no training dataset 1 of view@v1"):
            read()


@pytest.fixture
def vacuum(users: hr.FeatureStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Begins a vacuum of a table whose rows were replaced, which waits before it removes files; called, it goes on."""
    begun, go = threading.Event(), threading.Event()
    remove = DeltaTable.vacuum

    def waiting(table: DeltaTable, *arguments: Any, **options: Any) -> list[str]:
        begun.set()
        assert go.wait(60)
        return remove(table, *arguments, **options)

    monkeypatch.setattr(DeltaTable, "vacuum", waiting)
    group = users.get_feature_group("numbers")
    with ThreadPoolExecutor(1) as aside:

        def finish() -> list[str]:
            go.set()
            return vacuuming.result(60)

        def begin() -> Callable[[], list[str]]:
            nonlocal vacuuming
            group.insert(OTHERS, mode="overwrite")
            vacuuming = aside.submit(group.vacuum, retention_hours=0, dry_run=False)
            assert begun.wait(60)
            return finish

        vacuuming: Future[list[str]]
        yield begin
        go.set()


def test_a_vacuum_under_way(
    users: hr.FeatureStore, project: ProjectStore, vacuum: Callable[[], Callable[[], list[str]]]
) -> None:
    """It has asked already which snapshots are needed."""
    writing = project.start_dataset(ASKED)
    finish = vacuum()
    with ThreadPoolExecutor(1) as aside:
        making = aside.submit(project.make_dataset, writing, None)
        wait([making], timeout=1)
        assert len(finish()) == 1
        with pytest.raises(hr.Conflict, match=r"numbers@v1: snapshot 0 is no longer whole"):
            making.result(60)
    assert project.list_datasets("view@v1") == []


def test_a_vacuum_beside_a_restore(
    users: hr.FeatureStore, project: ProjectStore, vacuum: Callable[[], Callable[[], list[str]]]
) -> None:
    """What is restored is not removed."""
    finish = vacuum()
    with ThreadPoolExecutor(1) as aside:
        restoring = aside.submit(project.restore, "numbers@v1", 0, "k")
        wait([restoring], timeout=1)
        assert len(finish()) == 1
        with pytest.raises(hr.SnapshotNotFound, match=r"snapshot 0 is no longer whole"):
            restoring.result(60)
    assert users.get_feature_group("numbers").read().to_arrow().num_rows == 100


@pytest.mark.parametrize(("lost", "kept"), [(0, [3]), (2, [1, 2])], ids=["its start", "its end"])
def test_a_log_that_lost_some_of_it(users: hr.FeatureStore, root: Path, lost: int, kept: list[int]) -> None:
    """What it still tells of is kept for the datasets that need it."""
    group, view = users.get_feature_group("numbers"), users.get_feature_view("view")
    for rows in (OTHERS, ROWS):
        view.create_training_dataset()
        group.insert(rows, mode="overwrite")
    view.create_training_dataset()
    if lost == 0:
        DeltaTable(group.location).create_checkpoint()
    (Path(group.location) / "_delta_log" / f"{lost:020d}.json").unlink()
    with hr.connect(root) as store:
        group, view = store.get_feature_group("numbers"), store.get_feature_view("view")
        group.insert(OTHERS, mode="overwrite")
        assert len(group.vacuum(retention_hours=0, dry_run=False)) == 3 - len(kept)
        for dataset in view.list_training_datasets():
            rows = dataset.read().to_arrow()
            assert rows.num_rows == 100
            if dataset.version in kept:
                assert rows.equals(dataset.recompute().to_arrow())
            elif lost == 0:
                with pytest.raises(hr.SnapshotNotFound):
                    dataset.recompute()
