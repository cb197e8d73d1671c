"""Notes of folders: what is left of a process that is gone is settled, and what another is at is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.storage.notes import Notes

LOCATION = "default/view_v1-0123456789ab"


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


def settled(notes: Notes, *known: str, by: str = "sqlite:///a") -> list[str]:
    removed: list[str] = []

    def remove(location: str) -> bool:
        removed.append(location)
        return True

    notes.settle(by, lambda location: location in known, remove)
    return removed


def test_nothing_is_left_of_what_ended_well(notes: Notes) -> None:
    with notes.of(LOCATION, "sqlite:///a"):
        pass
    assert settled(notes) == []


def test_what_is_under_way_is_left_alone(notes: Notes) -> None:
    with notes.of(LOCATION, "sqlite:///a"):
        assert settled(notes) == []


@pytest.mark.parametrize("known", [False, True])
def test_what_broke_off_is_removed_unless_it_is_known(notes: Notes, known: bool) -> None:
    with pytest.raises(ValueError, match="broken off"), notes.of(LOCATION, "sqlite:///a"):
        raise ValueError("broken off")
    assert settled(notes, *[LOCATION] * known) == [LOCATION] * (not known)
    assert settled(notes) == []


def test_what_cannot_be_told_yet_is_left_for_the_next(notes: Notes) -> None:
    def unknown(_: str) -> bool:
        raise TimeoutError

    with pytest.raises(ValueError, match="broken off"), notes.of(LOCATION, "sqlite:///a"):
        raise ValueError("broken off")
    with pytest.raises(TimeoutError):
        notes.settle("sqlite:///a", unknown, lambda _: True)
    assert settled(notes) == [LOCATION]


def test_what_cannot_be_removed_now_is_left_for_the_next(notes: Notes) -> None:
    with pytest.raises(ValueError, match="broken off"), notes.of(LOCATION, "sqlite:///a"):
        raise ValueError("broken off")
    notes.settle("sqlite:///a", lambda _: False, lambda _: False)
    assert settled(notes) == [LOCATION]
    assert settled(notes) == []


def test_another_registry_cannot_say_that_it_is_not_known(notes: Notes) -> None:
    with pytest.raises(ValueError, match="broken off"), notes.of(LOCATION, "sqlite:///a"):
        raise ValueError("broken off")
    assert settled(notes, by="sqlite:///b") == []
    assert settled(notes) == [LOCATION]
