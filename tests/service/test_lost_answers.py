"""Writes whose answer is lost: the client learns what became of them, or says that nobody knows."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from conftest import Server, fresh
from integration import acts, dataset_acts
from integration.child import Child
from service.proxy import Proxy, between

ROWS = pa.table({"id": range(100), "value": [1.0] * 100})


@pytest.fixture
def network(server: Server) -> Iterator[Proxy]:
    with between(server.url) as proxy:
        yield proxy


@pytest.fixture
def project() -> str:
    return fresh("lost")


@pytest.fixture
def near(server: Server, project: str) -> Iterator[Any]:
    """The group, by a way that does not fail."""
    with server.connect(project=project) as store:
        yield store.create_feature_group("numbers", primary_key=["id"], schema=ROWS.schema)


@pytest.fixture
def far(near: Any, network: Proxy, project: str) -> Iterator[Any]:
    """The same group, by one that does."""
    with hr.connect(network.url, project=project) as store:
        yield store.get_feature_group("numbers")


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def again(call: Callable[[], Any]) -> Any:
    """As users do: until the service is found again."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return call()
        except hr.Unavailable:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
def test_the_client_asks_what_became_of_an_insert(
    near: Any, far: Any, network: Proxy, aside: ThreadPoolExecutor, mode: str
) -> None:
    network.deaf()
    writing = aside.submit(far.insert, ROWS, mode=mode)
    wait(lambda: len(near.history()) == 2)
    network.cut()
    network.mend()
    assert writing.result(60) == near.history()[0]
    assert near.read().to_arrow().num_rows == 100


def test_the_client_asks_what_became_of_a_delete(
    near: Any, far: Any, network: Proxy, aside: ThreadPoolExecutor
) -> None:
    near.insert(ROWS)
    network.deaf()
    deleting = aside.submit(far.delete, filter=near["id"] < 10)
    wait(lambda: len(near.history()) == 3)
    network.cut()
    network.mend()
    assert deleting.result(60).rows_deleted == 10


@pytest.mark.parametrize("mode", ["upsert", "append"])
def test_nobody_can_be_asked(
    near: Any, far: Any, network: Proxy, aside: ThreadPoolExecutor, mode: str
) -> None:
    network.deaf()
    writing = aside.submit(far.insert, ROWS, mode=mode, idempotency_key="mine")
    wait(lambda: len(near.history()) == 2)
    network.cut()
    with pytest.raises(hr.OutcomeUnknown) as caught:
        writing.result(60)
    assert caught.value.details == {"idempotency_key": "mine"}
    assert "'mine'" in str(caught.value)
    assert caught.value.retryable
    network.mend()
    assert again(lambda: far.insert(ROWS, mode=mode, idempotency_key="mine")) == near.history()[0]
    assert near.read().to_arrow().num_rows == 100


def test_the_key_is_told_to_who_gave_none(
    near: Any, far: Any, network: Proxy, aside: ThreadPoolExecutor
) -> None:
    network.deaf()
    writing = aside.submit(far.insert, ROWS, mode="append")
    wait(lambda: len(near.history()) == 2)
    network.cut()
    with pytest.raises(hr.OutcomeUnknown) as caught:
        writing.result(60)
    network.mend()
    assert again(lambda: far.insert(ROWS, mode="append", **caught.value.details)) == near.history()[0]
    assert near.read().to_arrow().num_rows == 100


def test_cut_off_before_the_rows_are_complete(near: Any, far: Any, network: Proxy) -> None:
    """Then it is certain that nothing was written."""

    def rows() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        network.cut()
        for _ in range(1000):
            yield from ROWS.to_batches()
            time.sleep(0.01)

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, rows())
    with pytest.raises(hr.Unavailable) as caught:
        far.insert(reader, mode="append", idempotency_key="mine")
    assert caught.value.retryable
    assert len(near.history()) == 1
    network.mend()
    assert again(lambda: far.insert(ROWS, mode="append", idempotency_key="mine")).rows_inserted == 100


def test_a_service_that_has_not_committed_yet(tmp_path: Path) -> None:
    """That it knows of no commit does not mean that none will come."""
    service = Child(acts.serve, tmp_path / "lake")
    url = service.hear()
    with between(url) as network, hr.connect(url) as store, ThreadPoolExecutor(1) as aside:
        near = store.create_feature_group("numbers", primary_key=["id"], schema=ROWS.schema)
        with hr.connect(network.url, timeout=2) as remote:
            far = remote.get_feature_group("numbers")

            stopped = threading.Event()

            def rows() -> Iterator[pa.RecordBatch]:
                yield from ROWS.to_batches()
                os.kill(service.pid, signal.SIGSTOP)
                stopped.set()

            reader = pa.RecordBatchReader.from_batches(ROWS.schema, rows())
            writing = aside.submit(far.insert, reader, idempotency_key="mine")
            try:
                assert stopped.wait(60)
                time.sleep(0.5)
                network.cut()
                network.mend()
                with pytest.raises(hr.OutcomeUnknown):
                    writing.result(60)
            finally:
                os.kill(service.pid, signal.SIGCONT)
            commit = again(lambda: far.insert(ROWS, idempotency_key="mine"))
            assert near.history() == [commit, near.history()[-1]]
            assert near.read().to_arrow().num_rows == 100
    service.kill()


@pytest.mark.parametrize(
    "change",
    [
        lambda store, query: store.create_feature_group("others", primary_key=["id"], schema=ROWS.schema),
        lambda store, query: store.create_feature_view("view", query),
        lambda store, query: store.delete_feature_group("numbers", 1),
    ],
)
def test_a_change_that_was_not_answered_may_have_happened(
    near: Any, network: Proxy, project: str, change: Callable[[Any, Any], Any]
) -> None:
    with hr.connect(network.url, project=project, timeout=2) as store:
        query = store.get_feature_group("numbers").select("value")
        network.deaf()
        with pytest.raises(hr.OutcomeUnknown, match="look whether the change is there"):
            change(store, query)


def test_a_read_that_is_cut_off(near: Any, far: Any, network: Proxy) -> None:
    size = 3_000_000  # more than fits between service and client, or nothing would be left to cut off
    near.insert(pa.table({"id": pa.arange(0, size), "value": pa.repeat(1.0, size)}))
    batches = iter(far.read().to_reader())
    next(batches)
    network.cut()
    with pytest.raises(hr.Unavailable):
        list(batches)
    network.mend()
    assert again(lambda: far.read().to_arrow()).num_rows == size


@pytest.mark.parametrize("mended", [True, False], ids=["mended at once", "cut off"])
@pytest.mark.parametrize(("way", "last"), [("asked", 36_000), ("answered", 2_000)])
def test_a_dataset_is_made_once_wherever_the_line_is_cut(
    tmp_path: Path, way: str, last: int, mended: bool
) -> None:
    """Or an error tells that it was not made, or that nobody knows."""
    dataset_acts.build(tmp_path / "lake")
    service = Child(acts.serve, tmp_path / "lake")
    url = service.hear()
    told = Counter[str]()
    with between(url) as network, hr.connect(url) as store:
        near = store.get_feature_view("view")
        for point in [*range(0, last, last // 8), 10 * last]:
            with again(lambda: hr.connect(network.url)) as remote:
                far = again(lambda: remote.get_feature_view("view"))
                network.cut_after(mended=mended, **{way: point})
                try:
                    made = far.create_training_dataset(spine=dataset_acts.spine())
                    became = f"made {made.version}"
                except (hr.Unavailable, hr.OutcomeUnknown) as error:
                    became = error.code
                network.mend()
            time.sleep(0.1)
            # No longer at work: of each process that is, there is a file that it holds, and no more.
            wait(lambda: all(file.name == "held" for file in tmp_path.glob("lake/.headrace/scratch-*/*")))
            found = near.list_training_datasets()
            assert len(found) <= 1, (point, became)
            assert all(map(dataset_acts.same, found))
            if became != "OUTCOME_UNKNOWN":
                assert became == (f"made {found[0].version}" if found else "UNAVAILABLE")
            for dataset in found:
                near.delete_training_dataset(dataset.version)
            told[became.split()[0]] += 1
    assert told["made"] > 0
    assert told["OUTCOME_UNKNOWN"] > 0 or mended
    service.kill()


def test_a_key_that_the_service_knows_needs_no_rows(near: Any, far: Any) -> None:
    """It answers before it has read them all, which is no failure."""
    wide = pa.table({"id": range(400_000), "value": [1.0] * 400_000})
    commit = far.insert(wide, mode="append", idempotency_key="mine")
    batches = [wide.to_batches()[0]] * 20
    again = pa.RecordBatchReader.from_batches(wide.schema, batches)
    assert far.insert(again, mode="append", idempotency_key="mine") == commit
    assert near.read(["id"]).to_arrow().num_rows == 400_000
