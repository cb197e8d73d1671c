"""Several processes that write to one group of a store elsewhere at once: every row is there as often as it was written."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from faults import acts
from faults.place import Place, held, held_at, place
from integration.child import Child
from servers.azurite import Azurite
from servers.hdfs import Hdfs
from servers.pki import Pki
from servers.s3 import S3
from servers.tls_front import TlsFront

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs") / "hdfs") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with S3(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """With an empty group."""
    kind, name = request.param, tmp_path.name
    if kind in ("hdfs", "hopsfs"):
        hdfs = request.getfixturevalue("hdfs")
    if kind == "hdfs":
        yield made(place(tmp_path, f"hdfs://{hdfs.namenode}/{name}", {}))
    elif kind == "hopsfs":
        pki = Pki(tmp_path / "pki")
        with TlsFront(hdfs.namenode, pki.server(), tmp_path / "front.log") as front:
            tls = hr.TLS.from_dir(pki.client())
            yield made(place(tmp_path, f"hopsfs://{front.address}/{name}", {}, tls))
    elif kind == "s3":
        s3 = request.getfixturevalue("s3")
        yield made(place(tmp_path, f"{s3.url}/{name}", s3.storage_options))
    else:
        with Azurite(tmp_path) as azurite:
            yield made(place(tmp_path, f"{azurite.url}/{name}", azurite.storage_options))


def made(there: Place) -> Place:
    with there.connect() as store:
        there.group(store)
    return there


def at_once(there: Place, calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """What each came to, in a process of its own; one whose arguments begin with a place works there."""
    children = [
        Child(act, *(arguments if isinstance(arguments[0], Place) else (there, *arguments)))
        for act, arguments in calls
    ]
    for child in children:
        assert child.hear() == "ready"
    for child in children:
        child.send("go")
    came = [child.hear() for child in children]
    for child in children:
        child.join()
    return came


def appended(there: Place, *others: tuple[Callable[..., Any], tuple[Any, ...]]) -> list[Any]:
    """By 3 processes, 8 times each, beside others, of which is told what they came to."""
    came = at_once(there, [*[(acts.appends, (writer, 8)) for writer in range(3)], *others])
    told = came[:3]
    assert [each.errors for each in told] == [[], [], []]
    assert [len(each.written) for each in told] == [8, 8, 8]
    return came


@pytest.mark.parametrize("there", ["hdfs", "hopsfs", "s3", "azure"], indirect=True)
def test_appends(there: Place) -> None:
    told = appended(there)
    acts.check(held_at(there), told)
    with there.connect() as store:
        history = store.get_feature_group("numbers").history()
    assert [commit.snapshot for commit in history] == list(range(24, -1, -1))
    assert [commit.rows_inserted for commit in history[:-1]] == [acts.ROWS] * 24


@pytest.mark.parametrize("there", ["hdfs", "s3"], indirect=True)
def test_upserts_of_the_same_keys(there: Place) -> None:
    check_upserts(there)


@pytest.mark.parametrize("there", ["hdfs"], indirect=True)
def test_upserts_beside_compactions_held_by_postgresql(there: Place, postgres_database: str) -> None:
    """The registry's advisory locks keep compactions and others apart, over machines too."""
    check_upserts(
        made(dataclasses.replace(there, uri=f"{there.uri}-held", registry=postgres_database)),
        (acts.compactions, (3,)),
        (acts.compactions, (3,)),
    )


def check_upserts(there: Place, *others: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
    came = at_once(there, [*[(acts.upserts, (writer, 4)) for writer in range(3)], *others])
    expected: dict[int, int] = {}
    done = sorted((each for told in came[:3] for each in told), key=lambda each: each[0])
    assert len({snapshot for snapshot, _, _ in done}) == 12
    for _, ids, value in done:
        expected |= dict.fromkeys(ids, value)
    assert held_at(there) == Counter(expected.items())


@pytest.mark.parametrize("there", ["hdfs", "s3"], indirect=True)
def test_two_compactions_at_once_beside_appends(there: Place) -> None:
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        first = acts.Told()
        for number in range(6):
            acts.append(group, first, 9000 + number)
    spelled = there.uri.replace("s3://", "s3a://").replace("127.0.0.1", "localhost")
    assert spelled != there.uri
    same = dataclasses.replace(there, uri=spelled)
    *told, one, other = appended(there, (acts.compactions, (4,)), (acts.compactions, (same, 4)))
    acts.check(held_at(there), [first, *told])
    assert "OPTIMIZE" in one + other
    assert set(one + other) <= {"OPTIMIZE", "NONE", "CONFLICT"}
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        group.compact()
        assert group.vacuum(retention_hours=0, dry_run=False)
        acts.check(held(group), [first, *told])
