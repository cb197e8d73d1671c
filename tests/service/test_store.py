"""What goes wrong between the registry and the tables of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace.formats.base import Snapshot
from headrace.formats.delta import DeltaLog
from headrace.formats.delta_writer import DeltaWriter
from headrace.registry.registry import Registry

SCHEMA = pa.schema({"id": pa.int64()})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def store(root: Path) -> Iterator[hr.FeatureStore]:
    with hr.connect(root) as opened:
        yield opened


def test_a_table_that_cannot_be_made_leaves_nothing(
    store: hr.FeatureStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(writer: DeltaWriter, *_: object) -> None:
        (Path(writer.table.uri) / "_delta_log").mkdir(parents=True)
        raise hr.LimitExceeded("no space is left")

    monkeypatch.setattr(DeltaWriter, "create", create)
    with pytest.raises(hr.LimitExceeded):
        store.create_feature_group("g", primary_key=["id"], schema=SCHEMA)
    assert list((root / "default").iterdir()) == []
    assert store.list_feature_groups() == []


def test_a_group_that_is_deleted_while_it_is_got(
    store: hr.FeatureStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create_feature_group("g", primary_key=["id"], schema=SCHEMA)
    kept = store.create_feature_group("kept", primary_key=["id"], schema=SCHEMA)
    newest = DeltaLog.newest

    def vanishing(log: DeltaLog) -> Snapshot | None:
        if log.table.uri == kept.location:
            return newest(log)
        with hr.connect(root) as other:
            other.delete_feature_group("g", 1)
        raise hr.Unavailable("the file was there a moment ago")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLog, "newest", vanishing)
        with pytest.raises(hr.NotFound, match="deleted meanwhile"):
            store.get_feature_group("g")
    store.create_feature_group("g", primary_key=["id"], schema=SCHEMA, version=1)
    monkeypatch.setattr(DeltaLog, "newest", vanishing)
    assert [group.name for group in store.list_feature_groups()] == ["kept"]


def test_a_group_whose_storage_fails(store: hr.FeatureStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(log: DeltaLog) -> None:
        raise hr.Unavailable("the storage does not answer")

    store.create_feature_group("g", primary_key=["id"], schema=SCHEMA)
    monkeypatch.setattr(DeltaLog, "newest", failing)
    for call in (store.list_feature_groups, lambda: store.get_feature_group("g")):
        with pytest.raises(hr.Unavailable):
            call()


def test_a_table_that_was_not_kept_in_mind_is_so_by_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between a commit and the registry, or in a store of an older version."""
    with monkeypatch.context() as crash, hr.connect(tmp_path / "lake") as store:
        crash.setattr(Registry, "start_group", lambda *_: None)
        store.create_feature_group("g", primary_key=["k"]).insert([{"k": 1}])
    with hr.connect(tmp_path / "lake") as store:
        location = Path(store.get_feature_group("g").location)
    location.rename(tmp_path / "away")
    with hr.connect(tmp_path / "lake") as store, pytest.raises(hr.CorruptTable, match="is lost"):
        store.get_feature_group("g")


def test_a_store_is_made_beside_tables_of_others(root: Path) -> None:
    (root / "others" / "table" / "_delta_log").mkdir(parents=True)
    with hr.connect(root) as store:
        assert store.list_feature_groups() == []
