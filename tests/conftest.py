"""Stores to test against: one embedded in this process, one behind a service in a process of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

import headrace as hr
from headrace.config import quiet_libraries
from servers.lake import running_lake
from spark.spark import PROFILES
from tries import SOAK

# Started in the background of a shell, it would not hear Ctrl-C, nor would any process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before any test has these libraries loaded: what commands print is looked at, in this process, too.
quiet_libraries()

# Where the stores are that tests connect to, if not in folders and behind a service: see `servers.lake`.
LAKE = os.environ.get("HEADRACE_LAKE")

# "spark" has the joins of embedded stores run there, in the Python of a profile of Spark.
ENGINE = os.environ.get("HEADRACE_ENGINE")

COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
}
# Derandomised, because a newcomer's first run must not fail by chance: `soak` looks for what is new.
hypothesis.settings.register_profile("ci", max_examples=100, derandomize=True, **COMMON)
hypothesis.settings.register_profile("spark", max_examples=15, derandomize=True, **COMMON)
hypothesis.settings.register_profile("soak", max_examples=2000, **COMMON)
hypothesis.settings.load_profile(os.environ.get("HEADRACE_HYPOTHESIS", "spark" if ENGINE else "ci"))

_numbers = itertools.count()
_TESTS = Path(__file__).parent


def fresh(prefix: str) -> str:
    """A name that no other test, and no other process, uses."""
    return f"{prefix}_{next(_numbers)}_{uuid.uuid4().hex[:8]}"


@dataclasses.dataclass
class Server:
    """`headrace serve` in a process of its own."""

    process: subprocess.Popen[bytes]
    root: Path
    urls: list[str]
    log: Path

    @property
    def url(self) -> str:
        return self.urls[0]

    def connect(self, **options: object) -> hr.FeatureStore:
        return hr.connect(self.url, **options)

    def stop(self) -> int:
        """Ask it to stop, and end it after 10 seconds; gives its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def start_server(
    root: Path, log: Path, *arguments: str, listen: str = "grpc://127.0.0.1:0", keeping: str | None = None
) -> Server:
    """One of a store at `root`; with `keeping`, so many bytes of results are kept, however fast they were computed."""
    program = ["-m", "headrace", "serve"]
    if keeping is not None:
        program = [str(_TESTS / "keeping.py"), "serve", "--cache", keeping]
    command = [sys.executable, *program, "--root", str(root), "--listen", listen, "--json"]
    command += ["--drain-seconds", "3"]  # who stops it here waits for nobody
    with log.open("wb") as stderr:
        process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=stderr)
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(60) else b""
    if not line:
        process.kill()
        raise RuntimeError(f"the service did not start (status {process.wait()}): {log.read_text()}")
    return Server(process, root, json.loads(line)["listening"], log)


_TOGETHER = ("/servers/", "/faults/", "/benchmarks/test_suite.py")


class _ByServer(LoadScopeScheduling):
    """Gives all tests of one version of Spark, and all of one file about a server, to one worker: it starts once.

    So it does with the tests of a suite of benchmarks: each goes on where the one before it stopped.

    The groups that xdist knows by marks do not come through with pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        version = re.search(r"/spark/.*\[(?P<version>[0-9]\.[0-9])", nodeid)
        if version is not None:
            return version["version"]
        return nodeid.split("::")[0] if any(part in nodeid for part in _TOGETHER) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return _ByServer(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The service that all tests share; each takes a project of its own.

    It keeps what it can, so that whatever is tested of reads is tested of those, too.
    """
    folder = tmp_path_factory.mktemp("service")
    started = start_server(folder / "lake", folder / "log", keeping="50MB")
    yield started
    started.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts services of this test alone: `serve(root, "--memory-limit", "1GB", listen="grpc://…")`."""
    with contextlib.ExitStack() as stack:

        def start(root: Path | None = None, *arguments: str, **options: Any) -> Server:
            number = next(_numbers)
            started = start_server(
                root or tmp_path / "served", tmp_path / f"serve{number}.log", *arguments, **options
            )
            stack.callback(started.stop)
            return started

        yield start


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if LAKE and item.get_closest_marker("local_files")}
    if not SOAK:
        left_out |= _for_soak(items)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


_IN_TURN = {"target": ("embedded", "remote"), "lake": ("s3", "hdfs", "hopsfs", "azure")}
"""What fixtures are, of which a case may do with one."""


def _for_soak(items: list[pytest.Item]) -> set[pytest.Item]:
    """What is left to `make soak`, as it would take all others beyond the hour that they may take.

    Of tests with many cases each case but the first runs either embedded or remote, in turn; so it is with storages.
    Every third case of what is marked `sampled` runs, and every fourth test by Spark, in HopsFS, and in S3, there others.
    """
    left: set[pytest.Item] = set()
    if ENGINE or LAKE:
        kept = 2 if LAKE == "s3" else 0
        left.update(item for number, item in enumerate(items) if number % 4 != kept)
    cases: dict[object, dict[str, int]] = defaultdict(dict)
    sampled: Counter[object] = Counter()
    for item in items:
        if item.get_closest_marker("soak"):
            left.add(item)
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        given, test = item.callspec.params, (item.path, item.cls, item.originalname)
        if item.get_closest_marker("newest_line") and PROFILES[0] in given.values():
            left.add(item)
        for fixture, places in _IN_TURN.items():
            place = given.get(fixture)
            if place in places and not ENGINE:
                case, known = item.name.replace(place, "", 1), cases[test]
                number = known.setdefault(case, len(known))
                if number and places.index(place) != number % len(places):
                    left.add(item)
        if item.get_closest_marker("sampled") and item not in left:
            if sampled[test] % 3:
                left.add(item)
            sampled[test] += 1
    return left


@pytest.fixture(params=[LAKE] if LAKE else ["embedded"] if ENGINE else ["embedded", "remote"])
def target(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | str:
    """What to connect to: a folder, and a service; or a root in the storage that the tests are run with."""
    if request.param == "embedded":
        shutil.copytree(request.getfixturevalue("empty_lake"), tmp_path / "lake")
        return tmp_path / "lake"
    if request.param == "remote":
        return request.getfixturevalue("server").url
    monkeypatch.setenv("HEADRACE_REGISTRY", f"sqlite:///{tmp_path / 'registry.db'}")
    return f"{request.getfixturevalue('lake')}/{fresh('root')}"


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the registry of a store that has never been used: to make one anew takes each test a tenth of a second."""
    root = tmp_path_factory.mktemp("empty") / "lake"
    hr.connect(root).close()
    return root


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of the storage that the tests are run with, which the environment tells how to reach."""
    with running_lake(LAKE or "", tmp_path_factory.mktemp("lake")) as uri:
        yield uri


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What stores are opened with for the engine that the tests are run with."""
    if ENGINE is None:
        yield {}
        return
    from spark.session import start  # which only the Python of a profile of Spark can

    session = start(
        tmp_path_factory.mktemp("spark"), {"spark.master": "local[1]", "spark.sql.shuffle.partitions": "1"}
    )
    yield {"spark": session, "spark_above": -1}
    session.stop()


@pytest.fixture
def store(target: Path | str, engine: dict[str, Any]) -> Iterator[hr.FeatureStore]:
    """An empty project, embedded and remote: every contract test runs against both."""
    with hr.connect(target, project=fresh("project"), **engine) as opened:
        yield opened


@pytest.fixture(scope="module")
def embedded_store(
    tmp_path_factory: pytest.TempPathFactory, engine: dict[str, Any]
) -> Iterator[hr.FeatureStore]:
    """One for a whole file, for tests that run many examples; these take fresh names for their groups."""
    folder = tmp_path_factory.mktemp("embedded")
    with hr.connect(folder / "lake", project="shared", **engine) as opened:
        yield opened


@pytest.fixture(scope="module")
def remote_store(server: Server) -> Iterator[hr.FeatureStore]:
    """As `embedded_store`, behind the service."""
    with server.connect(project=fresh("shared")) as opened:
        yield opened
