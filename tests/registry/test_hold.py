"""Names that are held by a registry's database, in one process and in several."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psycopg
import pytest

from headrace.registry.hold import RegistryHold
from holder import Holder

A, B = "s3://bucket/lake/p/a", "hdfs://nn:8020/ä/b'\"; --%"
HOLDS = """
import sys
from headrace.registry.hold import RegistryHold
with RegistryHold(sys.argv[1])(sys.argv[2:], alone=True):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def hold(url: str) -> RegistryHold:
    return RegistryHold(url)


@pytest.fixture
def other(url: str) -> RegistryHold:
    return RegistryHold(url)


def test_alone_or_together(hold: RegistryHold, other: RegistryHold) -> None:
    with ThreadPoolExecutor(4) as threads:
        first = Holder(threads, partial(hold, [A, B], alone=False))
        second = Holder(threads, partial(other, [B], alone=False))
        assert first.has()
        assert second.has()
        alone = Holder(threads, partial(other, [B], alone=True))
        assert not alone.has(0.3)
        second.let_go()
        assert not alone.has(0.2)
        first.let_go()
        assert alone.has()
        free = Holder(threads, partial(hold, [A], alone=True))
        assert free.has()
        free.let_go()
        late = Holder(threads, partial(hold, [B, A], alone=False))
        assert not late.has(0.3)
        alone.let_go()
        assert late.has()
        late.let_go()


def test_a_file_of_two_names_is_one_database(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("registry.db")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "up").symlink_to(tmp_path)
    names = ["registry.db", "link.db", "folder/up/link.db"]
    holds = [RegistryHold(f"sqlite:///{tmp_path / name}") for name in names]
    with ThreadPoolExecutor(3) as threads:
        first = Holder(threads, partial(holds[0], [A], alone=True))
        assert first.has()
        others = [Holder(threads, partial(hold, [A], alone=True)) for hold in holds[1:]]
        assert not any(other.has(0.3) for other in others)
        first.let_go()
        while others:
            had = next(other for other in others if other.has(2))
            had.let_go()
            others.remove(had)


def test_many_at_once_do_not_wait_for_a_connection(hold: RegistryHold) -> None:
    with ThreadPoolExecutor(40) as threads:
        holders = [Holder(threads, partial(hold, [A], alone=False)) for _ in range(40)]
        assert all(holder.has() for holder in holders)
        for holder in holders:
            holder.let_go()


def test_none(hold: RegistryHold) -> None:
    with hold([], alone=True), hold([], alone=True):
        pass


def test_an_error_lets_go(hold: RegistryHold, other: RegistryHold) -> None:
    with pytest.raises(KeyError), hold([A], alone=True):
        raise KeyError
    with other([A], alone=True):
        pass


def test_a_process_that_is_killed_lets_go(url: str, hold: RegistryHold) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, url, A], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with ThreadPoolExecutor(1) as threads:
        waiting = Holder(threads, partial(hold, [A], alone=True))
        assert not waiting.has(0.3)
        process.kill()
        assert waiting.has()
        waiting.let_go()
    process.wait()


FORKS = """
import os, sys, time
from headrace.registry.hold import RegistryHold
with RegistryHold(sys.argv[1])(sys.argv[2:], alone=True):
    if not os.fork():
        sys.stdin.read()
        os._exit(0)
print("let go", flush=True)
sys.stdin.read()
"""


def test_a_process_that_was_forked_does_not_hold_on(url: str, hold: RegistryHold) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS, url, A], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "let go\n"
    with ThreadPoolExecutor(1) as threads:
        waiting = Holder(threads, partial(hold, [A], alone=True))
        try:
            assert waiting.has()
        finally:
            process.stdin.close()
            process.wait(10)
            waiting.let_go()


@pytest.mark.parametrize("setting", ["idle_session_timeout", "statement_timeout", "lock_timeout"])
def test_a_server_that_ends_what_takes_long(postgres_database: str, setting: str) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as server:
        server.execute(f"ALTER DATABASE {server.info.dbname} SET {setting} = '100ms'")
    hold = RegistryHold(postgres_database)
    with ThreadPoolExecutor(2) as threads:
        first = Holder(threads, partial(hold, [A], alone=True))
        assert first.has()
        second = Holder(threads, partial(hold, [A], alone=True))
        assert not second.has(0.5)
        first.let_go()
        assert second.has()
        second.let_go()
