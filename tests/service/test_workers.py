"""Statements that users wrote: what brings their process down, or takes too much, leaves the service and others be."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.engine.duck import Engine
from headrace.engine.failure import translated
from headrace.service.limits import Limits, parse_size
from headrace.wiring import Service

SLOW = "SELECT sum(a.id + b.id + c.id) AS x FROM numbers a, numbers b, numbers c WHERE a.id * b.id % 7 = c.id % 5"
PARENT = "headrace.service.worker.parent"
# One expression each, within which the engine hears of nothing.
DEAF = "SELECT " + " + ".join(f"length(sha256(repeat('x', {200_000_000 + n})))" for n in range(40)) + " AS x"
WIDE = "SELECT a.id, b.id AS other FROM numbers a, numbers b"
# Of whose memory the allocator keeps the greater part.
DISTINCT = "SELECT count(DISTINCT a.id * 5000 + b.id) AS n FROM numbers a, numbers b"
BOMBS = [
    "SELECT length(repeat('x', 2000000000)) AS x",
    "WITH a AS (SELECT repeat('x', 1000000) AS x), b AS (SELECT replace(x, 'x', repeat('y', 10000)) AS x FROM a) SELECT length(x) AS n FROM b",
    "WITH a AS (SELECT repeat('x', 100000000) AS x), b AS (SELECT x || x || x || x || x || x || x || x || x || x AS x FROM a) SELECT length(x || x) AS n FROM b",
    "SELECT length(string_agg(repeat('x', 1000000), '')) AS n FROM numbers",
    "SELECT list(repeat('x', 1000000)) AS x FROM numbers",
    "SELECT format('{:>1000000000}', id) AS x FROM numbers",
    "SELECT a.id, list(b.id) OVER () AS x FROM numbers a, numbers b",
]


class Served:
    """A service with what one test asks of it, and a project in it."""

    def __init__(self, root: Path, limits: Limits, concurrency: int) -> None:
        config = store_config(str(root), memory_limit="1GB")
        self.service = Service(config, ["grpc://127.0.0.1:0"], concurrency=concurrency, limits=limits)
        self.store = self.connect()
        group = self.store.get_or_create_feature_group("numbers", version=1, primary_key=["id"])
        group.insert(pa.table({"id": range(5_000)}))

    def connect(self) -> hr.FeatureStore:
        return hr.connect(self.service.listening[0], timeout=60)

    def workers(self) -> list[psutil.Process]:
        found = []
        for parent in psutil.Process().children():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if PARENT in parent.cmdline():
                    found += parent.children()
        return found


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(limits: Limits | None = None, concurrency: int = 2) -> Served:
        started.append(Served(tmp_path / "lake", limits or Limits(), concurrency))
        return started[-1]

    yield start
    for served in started:
        served.store.close()
        served.service.stop()


class Asked:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except hr.HeadraceError as error:
            self.error = error

    def wait(self, seconds: float) -> Asked:
        self._thread.join(seconds)
        assert not self._thread.is_alive()
        return self


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def count(store: hr.FeatureStore) -> int:
    return store.sql("SELECT count(*) AS n FROM numbers").to_arrow()["n"][0].as_py()


def at_work(served: Served) -> bool:
    """Whether a worker computes something."""
    shares = []
    for process in served.workers():
        with contextlib.suppress(psutil.NoSuchProcess):
            shares.append(process.cpu_percent(0.2))
    return any(share > 20 for share in shares)


def is_running(store: hr.FeatureStore) -> bool:
    return any(query.state == "running" for query in store.queries.list())


class TestMemory:
    def test_bombs_go_off_alone(self, serve: Callable[..., Served]) -> None:
        served = serve()
        assert count(served.store) == 5_000
        other = Asked(lambda: [count(served.store) for _ in range(20)])
        for bomb in BOMBS:
            with pytest.raises(hr.LimitExceeded):
                served.store.sql(bomb).to_arrow()
        assert other.wait(60).result == [5_000] * 20
        assert psutil.Process().memory_info().rss < 4 << 30

    @pytest.mark.parametrize(
        ("how", "error"),
        [
            (signal.SIGKILL, hr.LimitExceeded),
            (signal.SIGABRT, hr.LimitExceeded),
            (signal.SIGSEGV, hr.InternalError),
        ],
    )
    def test_a_process_that_ends_in_mid_query(
        self, serve: Callable[..., Served], how: signal.Signals, error: type[hr.HeadraceError]
    ) -> None:
        served = serve()
        asked = Asked(lambda: served.store.sql(SLOW).to_arrow())
        wait_for(lambda: is_running(served.store))
        wait_for(lambda: at_work(served))
        for process in served.workers():
            process.send_signal(how)
        assert type(asked.wait(10).error) is error
        assert count(served.store) == 5_000

    def test_a_process_that_ends_while_nobody_asks_it(self, serve: Callable[..., Served]) -> None:
        served = serve()
        for _ in range(3):
            assert count(served.store) == 5_000
            for process in served.workers():
                process.kill()
                process.wait()

    def test_what_one_query_leaves_is_not_taken_from_the_next(self, serve: Callable[..., Served]) -> None:
        """Each needs about as much memory as it may have; a process that keeps too much of it has no other."""
        served = serve()
        for _ in range(3):
            assert served.store.sql(DISTINCT).to_arrow().to_pydict() == {"n": [25_000_000]}
            assert count(served.store) == 5_000

    def test_their_parent_may_end(self, serve: Callable[..., Served]) -> None:
        """They end with it, and it is started anew."""
        served = serve()
        for _ in range(3):
            assert count(served.store) == 5_000
            asked = Asked(lambda: served.store.sql(SLOW).to_arrow())
            wait_for(lambda: at_work(served))
            (parent,) = (p for p in psutil.Process().children() if PARENT in p.cmdline())
            parent.kill()
            assert isinstance(asked.wait(10).error, hr.InternalError)

    def test_each_instance_has_memory_of_its_own(self, tmp_path: Path) -> None:
        engine = Engine(memory_limit="100MB", threads=1, spill=tmp_path, spill_limit=1 << 20, instances=2)
        with engine.session() as greedy, engine.session() as modest:
            with pytest.raises(hr.LimitExceeded):
                greedy.table("SELECT list(range) AS x FROM range(100_000_000)")
            assert modest.rows("SELECT sum(range) AS n FROM range(1_000_000)") == [{"n": 499999500000}]
        engine.close()

    def test_what_does_not_fit_is_put_on_disk(self, tmp_path: Path) -> None:
        engine = Engine(memory_limit="50MB", threads=1, spill=tmp_path / "there")
        with engine.session() as session:
            sorted_by_hash = "SELECT range AS x FROM range(5_000_000) ORDER BY hash(range) LIMIT 4_000_000"
            assert session.rows(f"SELECT count(*) AS n FROM ({sorted_by_hash})") == [{"n": 4_000_000}]
        engine.close()

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT hash(range) AS h, repeat('x', 100) AS s FROM range(1_000_000) ORDER BY h",
            "FROM range(3_000_000) a(n) JOIN (SELECT hash(range) % 3_000_000 AS n, repeat('x', 99) || range FROM range(1_000_000)) USING (n)",
        ],
        ids=["sort", "join"],
    )  # fmt: skip
    def test_disk_is_bounded(self, tmp_path: Path, sql: str) -> None:
        most, error = spilled(tmp_path / "much", sql, 1 << 30)
        assert most > 40 << 20
        assert error is None
        most, error = spilled(tmp_path / "little", sql, 10 << 20)
        assert most <= 10 << 20
        assert error is not None
        assert "more disk" in error.message


def spilled(folder: Path, sql: str, allowed: int) -> tuple[int, hr.LimitExceeded | None]:
    """Most bytes that were on disk as the rows of a query were read, and how that ended."""

    def now() -> int:
        return sum(file.stat().st_size for file in folder.parent.glob(f"{folder.name}-*/*"))

    engine = Engine(memory_limit="50MB", threads=1, spill=folder, spill_limit=allowed)
    most, ended = 0, None
    with engine.session() as session:
        try:
            with translated():
                for _ in session.stream(sql, 10_000):
                    most = max(most, now())
        except hr.LimitExceeded as error:
            most, ended = max(most, now()), error
    engine.close()
    return most, ended


class TestStopping:
    def test_a_query_that_hears_of_nothing(self, serve: Callable[..., Served]) -> None:
        served = serve(Limits(memory=1 << 30))
        with hr.connect(served.service.listening[0], timeout=3) as hasty, pytest.raises(hr.Timeout):
            hasty.sql(DEAF)
        wait_for(lambda: not at_work(served), 5)
        assert count(served.store) == 5_000

    def test_a_running_query_is_gone_soon(self, serve: Callable[..., Served]) -> None:
        served = serve()
        count(served.store)
        asked = Asked(lambda: served.store.sql(SLOW).to_arrow())
        wait_for(lambda: is_running(served.store))
        (query,) = served.store.queries.list()
        start = time.monotonic()
        served.store.queries.cancel(query.id)
        assert isinstance(asked.wait(5).error, hr.Cancelled)
        wait_for(lambda: not served.store.queries.list(), 5)
        assert time.monotonic() - start < 8

    def test_a_stream_that_is_left(self, serve: Callable[..., Served]) -> None:
        served = serve()
        for _ in range(5):
            batches = iter(served.store.sql(WIDE).to_reader())
            assert next(batches).num_rows
            del batches
        wait_for(lambda: not served.store.queries.list())
        assert count(served.store) == 5_000
        assert len(served.workers()) <= 6

    def test_workers_end_with_their_service(self, tmp_path: Path) -> None:
        service = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "headrace",
                "serve",
                "--root",
                tmp_path / "lake",
                "--listen",
                "grpc://127.0.0.1:0",
            ],
            stdout=subprocess.PIPE,
        )
        assert service.stdout is not None
        url = service.stdout.readline().split()[3].decode()
        with hr.connect(url, timeout=60) as store:
            store.sql("SELECT 1 AS x").to_arrow()
            workers = psutil.Process(service.pid).children(recursive=True)
            assert len(workers) >= 2
            os.kill(service.pid, signal.SIGKILL)
            service.wait()
        assert not psutil.wait_procs(workers, 10)[1]


class TestLimits:
    def test_of_rows(self, serve: Callable[..., Served]) -> None:
        served = serve(Limits(rows=4_000))
        group = served.store.get_feature_group("numbers")
        assert served.store.sql("SELECT id FROM numbers LIMIT 4000").to_arrow().num_rows == 4_000
        for read in (served.store.sql("SELECT id FROM numbers"), group.read()):
            with pytest.raises(hr.LimitExceeded, match="4,000 rows"):
                read.to_arrow()

    def test_of_time(self, serve: Callable[..., Served]) -> None:
        served = serve(Limits(seconds=3))
        with pytest.raises(hr.LimitExceeded, match="3 seconds"):
            served.store.sql(SLOW).to_arrow()
        assert count(served.store) == 5_000

    def test_of_time_while_nobody_takes_rows(self, serve: Callable[..., Served]) -> None:
        served = serve(Limits(seconds=3))
        batches = iter(served.store.sql(WIDE).to_reader())
        next(batches)
        until = time.monotonic() + 20
        while served.store.queries.list() and time.monotonic() < until:
            time.sleep(0.05)
        assert not served.store.queries.list()
        with pytest.raises(hr.LimitExceeded, match="3 seconds"):
            list(batches)

    @pytest.mark.parametrize(
        ("text", "size"),
        [("1", 1), ("4GB", 4 * 10**9), ("512MiB", 512 << 20), ("1.5 kb", 1500), ("2TiB", 2 << 40)],
    )
    def test_sizes(self, text: str, size: int) -> None:
        assert parse_size(text) == size

    @pytest.mark.parametrize("text", ["", "0", "GB", "-1GB", "4 apples", "1e3", "4G B"])
    def test_what_is_no_size(self, text: str) -> None:
        with pytest.raises(hr.InvalidArgument):
            parse_size(text)


def test_who_takes_no_rows_gives_way(serve: Callable[..., Served]) -> None:
    served = serve(concurrency=1)
    with contextlib.ExitStack() as readers:
        lazy = [readers.enter_context(served.store.sql(WIDE).to_reader()) for _ in range(3)]
        for batches in lazy:
            batches.read_next_batch()
        assert count(served.connect()) == 5_000
        ended = 0
        for batches in lazy:
            size = 0
            try:
                while size < 64 << 20:  # more than can be on its way
                    size += batches.read_next_batch().nbytes
            except hr.LimitExceeded:
                ended += 1
    assert ended == 1


class TestSealed:
    @pytest.fixture
    def sealed(self, tmp_path: Path) -> Iterator[Engine]:
        engine = Engine(memory_limit="100MB", threads=1, spill=tmp_path / "spill", seals=True)
        yield engine
        engine.close()

    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM glob('/etc/*')",
            "COPY (SELECT 1) TO '/tmp/headrace-sealed.csv'", "ATTACH '/tmp/headrace-sealed.db'", "INSTALL httpfs", "LOAD httpfs",
            "SET threads = 8", "SET enable_external_access = true", "RESET lock_configuration", "SET memory_limit = '10GB'",
            "SET temp_directory = '/tmp'", "EXPORT DATABASE '/tmp/headrace-sealed'", "IMPORT DATABASE '/tmp/x'",
            "SELECT * FROM 'http://127.0.0.1:1/x.parquet'", "SELECT * FROM '{folder}/../outside.parquet'",
        ],
    )  # fmt: skip
    def test_statements_that_no_check_let_through(
        self, sealed: Engine, tmp_path: Path, statement: str
    ) -> None:
        import duckdb

        folder = tmp_path / "table"
        folder.mkdir()
        pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "outside.parquet")
        session = sealed.open_for_user([str(folder)])
        with pytest.raises(duckdb.Error):
            session._connection.execute(statement.format(folder=folder))
        session.close()
        assert not list(Path("/tmp").glob("headrace-sealed*"))

    def test_reads_what_it_is_for(self, sealed: Engine, tmp_path: Path) -> None:
        folder = tmp_path / "table [1]*"
        folder.mkdir()
        pa.parquet.write_table(pa.table({"x": [1, 2]}), folder / "a.parquet")
        path = str(folder / "a.parquet").replace("[", "[[]").replace("*", "[*]")
        for _ in range(3):
            session = sealed.open_for_user([str(folder)])
            assert session.rows(f"SELECT sum(x) AS n FROM read_parquet('{path}')") == [{"n": 3}]
            session.execute("CREATE TEMP TABLE left_over AS SELECT 1 AS x")  # which the next session has not
            session.close()

    def test_keeps_few_instances(self, sealed: Engine, tmp_path: Path) -> None:
        for number in range(20):
            sealed.open_for_user([f"/{number}"]).close()
        assert len(sealed._sealed) <= 5
