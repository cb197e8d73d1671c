"""Folders and files that the system does not let a user read or write."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from integration import acts
from integration.child import Child

DENIED = "PERMISSION_DENIED"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("numbers", primary_key=["id"])
        group.insert(acts.rows(range(3), 0))
        return Path(group.location)


@pytest.mark.parametrize(
    ("where", "mode", "expected"),
    [
        (".", 0o000, [DENIED] * 3),
        ("_delta_log", 0o000, [DENIED] * 3),
        ("..", 0o000, [DENIED] * 3),
        (".", 0o500, ["done", "done", DENIED]),
        ("_delta_log", 0o500, ["done", "done", DENIED]),
    ],
)
def test_are_told_as_such(tmp_path: Path, table: Path, where: str, mode: int, expected: list[str]) -> None:
    locked = (table / where).resolve()
    locked.chmod(mode)
    child = Child(acts.codes, tmp_path / "lake")
    assert child.hear() == expected
    child.join()
    locked.chmod(0o700)
    with hr.connect(tmp_path / "lake") as store:
        assert store.get_feature_group("numbers").insert(acts.rows(range(1), 1)).rows_updated == 1


@pytest.mark.parametrize("where", ["", ".headrace"])
def test_a_store_that_may_not_be_written_is_not_opened(tmp_path: Path, table: Path, where: str) -> None:
    locked = tmp_path / "lake" / where
    locked.chmod(0o500)
    child = Child(acts.codes, tmp_path / "lake")
    if where:
        with pytest.raises(hr.PermissionDenied):
            child.hear()
    else:
        assert child.hear() == ["done"] * 3
    child.join()
    locked.chmod(0o700)
