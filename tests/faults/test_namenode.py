"""NameNodes that go, and stand still, under readers and writers."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

import headrace as hr
from faults import acts
from faults.place import PATIENT, Place, held_at, place
from headrace.client.feature_group import listed_schema
from integration.child import Child
from servers.hdfs import Hdfs

pytestmark = pytest.mark.slow

QUICK = {"headrace.hdfs.answer_timeout": "1", "headrace.hdfs.outage_timeout": "2"}


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs") / "hdfs") as cluster:
        yield cluster


@pytest.fixture
def there(hdfs: Hdfs, tmp_path: Path) -> Place:
    """With an empty group."""
    made = place(tmp_path, f"hdfs://{hdfs.namenode}/{tmp_path.name}", {})
    with made.connect() as store:
        made.group(store)
    return made


def test_it_is_restarted_twice_under_readers_and_writers(hdfs: Hdfs, there: Place) -> None:
    patient = dataclasses.replace(there, options=PATIENT)
    children = [Child(acts.loops, patient, first, 2, 1) for first in (0, 10)]
    for child in children:
        assert child.hear() == "ready"
    for _ in range(2):
        time.sleep(1)
        hdfs.active.kill()
        time.sleep(1)
        hdfs.active.start()
        hdfs.wait()
        for child in children:
            child.send("more")
        for child in children:
            assert child.hear() == "done"
    for child in children:
        child.send("stop")
    told = [each for child in children for each in child.hear()]
    for child in children:
        child.join()
    assert [each.errors for each in told if each.errors] == [], "who waits gets through"
    acts.check(held_at(there), told)


@pytest.mark.parametrize("call", ["read", "append"])
def test_it_stands_still(hdfs: Hdfs, there: Place, call: str) -> None:
    """A call ends once its time is over, and says so; afterwards the same process goes on."""
    with there.connect() as store:
        acts.CALLS["append"](store.get_feature_group("numbers"), 0)
    child = Child(acts.call, there, call, {"read": (), "append": (1,)}[call], QUICK)
    assert child.hear() == "ready"
    hdfs.active.freeze()
    try:
        child.send("go")
        came, seconds = child.hear()
    finally:
        hdfs.active.thaw()
    assert isinstance(came, hr.Timeout | hr.OutcomeUnknown), repr(came)
    assert seconds < 20
    child.send("go")
    came, _ = child.hear()
    assert not isinstance(came, hr.HeadraceError), came
    child.send("end")
    child.join()
    written = 2 * acts.ROWS if call == "append" else acts.ROWS
    assert sum(held_at(there).values()) == written


@pytest.mark.parametrize("call", ["read", "append"])
def test_other_threads_go_on_while_it_stands_still(hdfs: Hdfs, there: Place, call: str) -> None:
    with there.connect(**QUICK) as store, ThreadPoolExecutor(1) as aside:
        group = store.get_feature_group("numbers")
        acts.CALLS[call](group, *{"read": (), "append": (0,)}[call])
        time.sleep(1)  # what was answered is not of late
        hdfs.active.freeze()
        try:
            away = aside.submit(acts.CALLS[call], group, *{"read": (), "append": (1,)}[call])
            times = [time.monotonic()]
            while not away.done() and times[-1] - times[0] < 60:
                time.sleep(0.01)
                times.append(time.monotonic())
        finally:
            hdfs.active.thaw()
        assert isinstance(away.exception(60), hr.Timeout | hr.OutcomeUnknown)
    assert times[-1] - times[0] > 1
    assert max(later - sooner for sooner, later in pairwise(times)) < 0.5


def test_many_at_once_wait_no_longer_than_one(hdfs: Hdfs, there: Place) -> None:
    """Threads that read one table, and such as write to it: none begins to wait when another has given up."""
    with there.connect(**QUICK) as store, ThreadPoolExecutor(6) as threads:
        group = store.get_feature_group("numbers")
        acts.CALLS["append"](group, 0)
        hdfs.active.freeze()
        try:
            begun = time.monotonic()
            calls = [threads.submit(acts.CALLS["read"], group) for _ in range(4)]
            calls += [threads.submit(acts.CALLS["append"], group, number) for number in (1, 2)]
            came = [call.exception(60) for call in calls]
            took = time.monotonic() - begun
        finally:
            hdfs.active.thaw()
        assert all(isinstance(each, hr.Timeout | hr.OutcomeUnknown) for each in came), came
        assert took < 8, "an outage is of 2 s"


def test_a_table_out_of_reach_hides_no_others(hdfs: Hdfs, there: Place, tmp_path: Path) -> None:
    with there.connect() as store:
        store.get_feature_group("numbers").insert([{"id": 1, "value": 1}])
        location = store.get_feature_group("numbers").location
    root = str(tmp_path / "local")
    with hr.connect(root) as store:
        store.create_feature_group("own", primary_key=["id"]).insert([{"id": 1}])
        store.register_feature_group("far", location, format="delta", primary_key=["id"])
    hdfs.active.freeze()
    try:
        with hr.connect(root, storage_options=QUICK) as store:
            told = {
                group.name: (listed_schema(group), group.location) for group in store.list_feature_groups()
            }
            with pytest.raises(hr.Unavailable):
                store.get_feature_group("far")
    finally:
        hdfs.active.thaw()
    assert told["far"] == (None, location)
    assert told["own"][0] is not None


@pytest.mark.parametrize("ends", ["interrupt", "close"])
def test_nobody_hangs_at_the_end_while_it_stands_still(hdfs: Hdfs, there: Place, ends: str) -> None:
    child = Child(acts.ended, there, ends, QUICK)
    assert child.hear() == "ready"
    hdfs.active.freeze()
    try:
        child.send("go")
        time.sleep(0.5)
        begun = time.monotonic()
        if ends == "interrupt":
            os.kill(child.pid, signal.SIGINT)
        came = child.hear()
        seconds = time.monotonic() - begun
        child.join()
    finally:
        hdfs.active.thaw()
    assert seconds < 15, came
    assert sum(held_at(there).values()) in (0, acts.ROWS)
