"""That the front before HDFS is to clients what HopsFS is: its own client works with it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from servers.hdfs import Hdfs
from servers.hops import PORT, HopsClient, HopsError
from servers.pki import Pki
from servers.tls_front import TlsFront

pytestmark = pytest.mark.slow
ROWS = {"a": [1, 2, 3], "b": ["x", "y", "z"]}


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("hops") / "pki")


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hops") / "hdfs") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def front(hdfs: Hdfs, pki: Pki) -> Iterator[TlsFront]:
    with TlsFront(hdfs.namenode, pki.server(), hdfs.folder / "front.log", port=PORT) as started:
        yield started


@pytest.fixture
def client(front: TlsFront, pki: Pki) -> Iterator[HopsClient]:
    yield HopsClient(pki.client())
    front.mend()


def _read(hdfs: Hdfs, path: str) -> dict[str, list[object]]:
    table = DeltaTable(f"{hdfs.url}/{path}", storage_options=hdfs.storage_options)
    return table.to_pyarrow_table().to_pydict()


def test_both_clients_read_what_the_other_wrote(hdfs: Hdfs, client: HopsClient) -> None:
    client.write("theirs", ROWS)
    assert _read(hdfs, "theirs") == ROWS
    write_deltalake(f"{hdfs.url}/ours", pa.table(ROWS), storage_options=hdfs.storage_options)
    assert client.read("ours") == ROWS


def test_a_client_of_another_authority_gets_nothing(hdfs: Hdfs, front: TlsFront, tmp_path: Path) -> None:
    refused = front.counts()["refused"]
    with pytest.raises(HopsError):
        HopsClient(Pki(tmp_path / "other").client()).write("stranger", ROWS)
    assert front.counts()["refused"] > refused
    assert not DeltaTable.is_deltatable(f"{hdfs.url}/stranger", storage_options=hdfs.storage_options)


def test_a_call_that_is_dropped_was_not_made(hdfs: Hdfs, front: TlsFront, client: HopsClient) -> None:
    front.drop(b"rename", b"_delta_log", at="request", times=1000)
    with pytest.raises(HopsError):
        client.write("dropped", ROWS)
    assert front.counts()["dropped"] > 0
    assert not DeltaTable.is_deltatable(f"{hdfs.url}/dropped", storage_options=hdfs.storage_options)


def test_a_commit_whose_answer_is_lost_was_made(hdfs: Hdfs, front: TlsFront, client: HopsClient) -> None:
    dropped = front.counts()["dropped"]
    front.drop(b"rename", b"_delta_log", at="reply")
    with pytest.raises(HopsError):
        client.write("lost", ROWS)
    assert front.counts()["dropped"] == dropped + 1
    assert _read(hdfs, "lost") == ROWS


def test_an_answer_that_never_comes_is_waited_for(front: TlsFront, client: HopsClient) -> None:
    front.drop(b"rename", b"_delta_log", at="reply", stall=True)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(client.write, "stalled", ROWS)
        with pytest.raises(TimeoutError):
            writing.result(3)
        front.cut()
        with pytest.raises(HopsError):
            writing.result()


def test_answers_that_end_early_are_an_error(front: TlsFront, client: HopsClient) -> None:
    client.write("early", ROWS)
    front.drop_after(100, times=1000)
    with pytest.raises(HopsError):
        client.read("early")
