"""HopsFS, as an mTLS front before a real NameNode plays it: lost answers, certificates that end or change."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

import headrace as hr
from faults import acts
from faults.place import Place, held, held_at, place
from integration.child import Child
from servers.hdfs import Hdfs
from servers.pki import Pki, replace
from servers.tls_front import TlsFront

pytestmark = pytest.mark.slow

COMMIT = (b"rename", b"_delta_log")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("hopsfs") / "pki")


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hopsfs") / "hdfs") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def running(hdfs: Hdfs, pki: Pki) -> Iterator[TlsFront]:
    with TlsFront(hdfs.namenode, pki.server(), hdfs.folder / "front.log") as started:
        yield started


@pytest.fixture
def front(running: TlsFront) -> Iterator[TlsFront]:
    yield running
    running.mend()


@pytest.fixture
def there(front: TlsFront, pki: Pki, tmp_path: Path) -> Place:
    """With an empty group, and certificates of its own."""
    return in_folder(front, pki.client(), tmp_path)


def in_folder(front: TlsFront, pems: Path, folder: Path) -> Place:
    tls = hr.TLS.from_dir(shutil.copytree(pems, folder / "pems"))
    made = place(folder, f"hopsfs://{front.address}/{folder.name}", {}, tls)
    with made.connect() as store:
        made.group(store)
    return made


@pytest.mark.parametrize("at", ["request", "reply"])
def test_a_commit_whose_call_is_lost_is_made_once(
    front: TlsFront, there: Place, at: Literal["request", "reply"]
) -> None:
    """The tunnel asks again under the same ids, and the NameNode gives the answer that it gave."""
    dropped = front.counts()["dropped"]
    child = Child(acts.call, there, "append", (0,), {})
    assert child.hear() == "ready"
    front.drop(*COMMIT, at=at)
    child.send("go")
    came, _ = child.hear()
    assert front.counts()["dropped"] == dropped + 1
    assert (came.operation, came.snapshot, came.rows_inserted) == ("WRITE", 1, acts.ROWS)
    child.send("end")
    child.join()
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        assert sum(held(group).values()) == acts.ROWS
        assert [commit.snapshot for commit in group.history()] == [1, 0]


@pytest.mark.parametrize("at", ["request", "reply"])
def test_a_commit_whose_calls_are_all_lost_is_told_as_it_is(
    front: TlsFront, there: Place, at: Literal["request", "reply"]
) -> None:
    """The log tells what became of it; with the same key it is written once, whichever it was."""
    quick = {"headrace.hdfs.answer_timeout": "1", "headrace.hdfs.outage_timeout": "2"}
    child = Child(acts.call, there, "append", (0,), quick)
    assert child.hear() == "ready"
    front.drop(*COMMIT, at=at, times=1000)
    child.send("go")
    came, _ = child.hear()
    front.mend()
    if at == "reply":
        assert not isinstance(came, hr.HeadraceError), repr(came)
        assert (came.operation, came.snapshot) == ("WRITE", 1)
    else:
        assert isinstance(came, hr.Unavailable | hr.OutcomeUnknown), repr(came)
        assert sum(held_at(there).values()) == 0
    child.send("go")
    came, _ = child.hear()
    assert (came.operation, came.snapshot) == ("WRITE", 1)
    child.send("end")
    child.join()
    assert sum(held_at(there).values()) == acts.ROWS


def test_a_certificate_that_expires_while_connected(front: TlsFront, pki: Pki, tmp_path: Path) -> None:
    """It is good for seconds; the next connections show the one that takes its place."""
    seconds = 20
    there = in_folder(front, pki.client("first"), tmp_path)
    child = Child(acts.call, there, "append", (0,), {})
    assert child.hear() == "ready"
    ends = time.monotonic() + seconds
    replace(tmp_path / "pems", pki.client("brief", days=(-1, seconds / 86_400)))
    front.cut()
    child.send("go")
    assert child.hear()[0].snapshot == 1
    assert time.monotonic() < ends, "this machine is too slow for it"
    time.sleep(max(0.0, ends + 1 - time.monotonic()))
    front.cut()
    child.send("go")
    came, seconds = child.hear()
    assert isinstance(came, hr.TLSError), repr(came)
    assert "CertificateExpired" in came.message
    assert seconds < 30
    replace(tmp_path / "pems", pki.client("renewed"))
    child.send("go")
    assert child.hear()[0].snapshot == 1
    child.send("end")
    child.join()
    assert sum(held_at(there).values()) == acts.ROWS


@pytest.mark.parametrize("broken", ["expired", "cut short", "of two pairs"])
def test_certificates_that_are_replaced_while_connected(
    front: TlsFront, pki: Pki, there: Place, tmp_path: Path, broken: str
) -> None:
    """By good ones, which are shown from the next connection on; and by others, beside which those read last stay."""
    child = Child(acts.call, there, "append", (0,), {})
    assert child.hear() == "ready"
    replace(tmp_path / "pems", pki.client("second"))
    front.cut()
    child.send("go")
    assert child.hear()[0].snapshot == 1
    match broken:
        case "expired":
            replace(tmp_path / "pems", pki.client("late", days=(-2, -1)))
        case "cut short":
            (tmp_path / "pems" / "client_key.pem").write_text("-----BEGIN")
        case _:
            replace(tmp_path / "pems", pki.client("other"), "client_key.pem")
    front.cut()
    child.send("go")
    assert child.hear()[0].snapshot == 1
    replace(tmp_path / "pems", pki.client("third"))
    front.cut()
    child.send("go")
    assert child.hear()[0].snapshot == 1
    child.send("end")
    child.join()
    said = front.log.read_text()
    assert all(f"'{name}'" in said for name in ("second", "third"))
    assert "'late'" not in said
    assert "'other'" not in said
    assert sum(held_at(there).values()) == acts.ROWS


def test_a_server_whose_certificate_expires_while_connected(
    front: TlsFront, hdfs: Hdfs, pki: Pki, tmp_path: Path
) -> None:
    pems = pki.server("passing")
    with TlsFront(hdfs.namenode, pems, hdfs.folder / "passing.log") as passing:
        made = place(
            tmp_path, f"hopsfs://{passing.address}/{tmp_path.name}", {}, hr.TLS.from_dir(pki.client())
        )
        with made.connect() as store:
            made.group(store)
        child = Child(acts.call, made, "append", (0,), {})
        assert child.hear() == "ready"
        replace(pems, pki.server("old", days=(-2, -1)))
        passing.cut()
        child.send("go")
        came, _ = child.hear()
        assert isinstance(came, hr.TLSError), repr(came)
        replace(pems, pki.server("new"))
        child.send("go")
        assert child.hear()[0].snapshot == 1
        child.send("end")
        child.join()
        assert sum(held_at(made).values()) == acts.ROWS
