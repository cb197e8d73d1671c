"""A store's root and its registry know each other, so that neither is taken for another's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace.registry.registry import KnownStore, Registry
from headrace.storage.mark import Mark, Marks
from postgres import postgres_database, postgres_url
from servers.s3 import S3

__all__ = ["postgres_database", "postgres_url"]
SCHEMA = pa.schema({"id": pa.int64()})


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def roots(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """Two of one kind, and no registry named."""
    monkeypatch.delenv("HEADRACE_REGISTRY", raising=False)
    monkeypatch.setenv("HEADRACE_WORK", str(tmp_path / "work"))
    if request.param == "folder":
        yield str(tmp_path / "lake"), str(tmp_path / "sea")
        return
    with S3(tmp_path / "s3") as s3:
        for name, value in s3.storage_options.items():
            monkeypatch.setenv(name, value)
        yield f"{s3.url}/lake", f"{s3.url}/sea"


@pytest.fixture(params=["sqlite", "postgresql"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        found: str = request.getfixturevalue("postgres_database")
        return found
    return f"sqlite:///{tmp_path / 'registry.db'}"


def fill(root: str, registry: str | None = None) -> None:
    with hr.connect(root, registry=registry) as store:
        store.create_feature_group("g", primary_key=["id"], schema=SCHEMA)


def groups(root: str, registry: str | None = None) -> list[str]:
    with hr.connect(root, registry=registry) as store:
        return [group.name for group in store.list_feature_groups()]


def test_a_registry_serves_one_root(roots: tuple[str, str], registry: str) -> None:
    lake, sea = roots
    fill(lake, registry)
    with pytest.raises(hr.InvalidArgument, match=f"is that of the store at {lake}, not at {sea}"):
        hr.connect(sea, registry=registry)
    assert groups(lake, registry) == ["g"]


def test_a_root_has_one_registry(roots: tuple[str, str], registry: str, tmp_path: Path) -> None:
    lake, sea = roots
    fill(lake, registry)
    mistyped = tmp_path / "registri.db"
    with pytest.raises(hr.InvalidArgument, match=r"registri\.db is another") as caught:
        hr.connect(lake, registry=f"sqlite:///{mistyped}")
    assert "registry=" in (caught.value.hint or "")
    assert not mistyped.exists()  # nor made

    fill(sea, f"sqlite:///{mistyped}")
    for root, other in ((lake, f"sqlite:///{mistyped}"), (sea, registry)):
        with pytest.raises(hr.InvalidArgument, match="is another"):
            hr.connect(root, registry=other)
    assert groups(lake, registry) == groups(sea, f"sqlite:///{mistyped}") == ["g"]


def test_a_registry_is_of_its_root_before_anything_is_registered(
    roots: tuple[str, str], registry: str
) -> None:
    lake, sea = roots
    with hr.connect(lake, registry=registry) as store:
        with pytest.raises(hr.InvalidArgument, match="not at"):
            hr.connect(sea, registry=registry)
        store.create_feature_group("g", primary_key=["id"], schema=SCHEMA)
    assert groups(lake, registry) == ["g"]


def test_of_two_registries_that_come_at_once_one_is_taken(
    roots: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen a root without a mark."""
    lake, _ = roots
    urls = [f"sqlite:///{tmp_path / name}.db" for name in ("one", "other")]
    come: list[Exception | None] = []

    def connected(url: str) -> Exception | None:
        try:
            hr.connect(lake, registry=url).close()
        except hr.InvalidArgument as error:
            return error
        return None

    add = Marks.add

    def late(marks: Marks, mark: Mark) -> None:
        if not come:
            come.append(None)
            come[0] = connected(urls[1])
        add(marks, mark)

    monkeypatch.setattr(Marks, "add", late)
    come.append(connected(urls[0]))
    monkeypatch.setattr(Marks, "add", add)
    assert sum(each is None for each in come) == 1
    assert [connected(url) is None for url in urls] == [each is None for each in reversed(come)]


def test_what_was_ended_between_the_two_goes_on(roots: tuple[str, str], registry: str) -> None:
    lake, _ = roots
    opened = Registry.open(registry)
    opened.set_store(KnownStore("ab" * 16, lake))
    opened.close()
    fill(lake, registry)
    opened = Registry.open(registry)
    assert opened.store() == KnownStore("ab" * 16, lake)
    opened.close()
    assert groups(lake, registry) == ["g"]


def test_who_comes_first_does_not_matter(roots: tuple[str, str], registry: str) -> None:
    lake, _ = roots
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(groups, [lake] * 6, [registry] * 6)) == [[]] * 6
    assert groups(lake, registry) == []


def test_a_registry_is_known_in_whatever_folder_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, there = str(tmp_path / "lake"), tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(tmp_path)
    fill(lake, "sqlite:///registry.db")
    assert groups(lake, f"sqlite:///{tmp_path}/registry.db") == ["g"]
    monkeypatch.chdir(there)
    with pytest.raises(
        hr.errors.InvalidArgument, match=f"has its registry at sqlite:///{tmp_path}/registry.db"
    ):
        groups(lake, "sqlite:///registry.db")
    assert groups(lake, "sqlite:///../registry.db") == ["g"]


def test_a_registry_from_before_marks_is_taken(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    fill(lake)
    (mark,) = (tmp_path / "lake" / ".headrace").glob("store-*.json")
    mark.unlink()
    assert groups(lake) == ["g"]
    assert mark.exists()


def test_a_store_that_was_moved_is_the_same(tmp_path: Path) -> None:
    elsewhere = f"sqlite:///{tmp_path / 'registry.db'}"
    fill(str(tmp_path / "own"))
    fill(str(tmp_path / "lake"), elsewhere)
    for name in ("own", "lake"):
        shutil.move(tmp_path / name, tmp_path / f"moved-{name}")
    assert groups(str(tmp_path / "moved-own")) == groups(str(tmp_path / "moved-lake"), elsewhere) == ["g"]


def test_one_root_of_two_spellings(tmp_path: Path) -> None:
    fill(str(tmp_path / "lake"))
    (tmp_path / "link").symlink_to("lake")
    for spelled in (f"{tmp_path}/lake/", os.path.relpath(tmp_path / "lake"), f"{tmp_path}/link"):
        assert groups(spelled) == ["g"]


@pytest.mark.parametrize("left", [None, b""])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_registry_that_is_lost_is_none_that_is_empty(
    tmp_path: Path, elsewhere: bool, left: bytes | None
) -> None:
    lake = tmp_path / "lake"
    file = tmp_path / "registry.db" if elsewhere else lake / ".headrace" / "registry.db"
    url = f"sqlite:///{file}" if elsewhere else None
    fill(str(lake), url)
    kept = file.read_bytes()
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    with pytest.raises(hr.Unavailable, match=r"the registry of .*lake is lost") as caught:
        hr.connect(lake, registry=url)
    assert "from a copy" in (caught.value.hint or "")
    assert (file.read_bytes() if file.exists() else None) == left
    file.write_bytes(kept)
    assert groups(str(lake), url) == ["g"]


def test_a_registry_in_the_folder_is_not_passed_by(tmp_path: Path) -> None:
    fill(str(tmp_path / "lake"))
    with pytest.raises(hr.InvalidArgument, match="has its registry in its folder"):
        hr.connect(tmp_path / "lake", registry=f"sqlite:///{tmp_path / 'other.db'}")


@pytest.mark.parametrize("left", [b"", b"{}", b"\xff", b'{"store":"a","registry":"\\u001b[31m"}'])
def test_a_mark_that_cannot_be_read_is_named(tmp_path: Path, left: bytes) -> None:
    """Its name is enough for who names the right registry."""
    lake, url = str(tmp_path / "lake"), f"sqlite:///{tmp_path / 'registry.db'}"
    fill(lake, url)
    (mark,) = (tmp_path / "lake" / ".headrace").glob("store-*.json")
    mark.write_bytes(left)
    assert groups(lake, url) == ["g"]
    with pytest.raises(hr.CorruptTable, match=mark.name):
        hr.connect(lake)
