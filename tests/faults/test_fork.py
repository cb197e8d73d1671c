"""Programs that fork once they are connected: the child works or is told so, and the parent goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import forks
from faults.place import Place, place
from servers.hdfs import Hdfs
from servers.s3 import S3

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module", params=["hdfs", "s3"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("fork")
    if request.param == "s3":
        with S3(folder) as s3:
            yield place(folder, f"{s3.url}/fork", s3.storage_options)
    else:
        with Hdfs(folder / "hdfs") as hdfs:
            yield place(folder, f"hdfs://{hdfs.namenode}/fork", {})


@pytest.fixture
def there(lake: Place, tmp_path: Path) -> Place:
    """With a group of one row."""
    made = place(tmp_path, f"{lake.uri}/{tmp_path.name}", lake.options)
    with made.connect() as store:
        made.group(store).insert(forks.ROW)
    return made


def run(what: str, how: str, there: Place) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "faults.forks", what, how, there.to_json()],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("how", ["os.fork", "multiprocessing"])
def test_a_child_is_told_and_its_parent_goes_on(there: Place, how: str) -> None:
    assert run("connected", how, there) == {
        "the store": "UNSUPPORTED",
        "a group": "UNSUPPORTED",
        "connect": "UNSUPPORTED",
        "connect locally": "UNSUPPORTED",
        "ended": "0",
        "parent": "done",
    }


def test_a_child_of_one_that_has_only_imported_works(there: Place) -> None:
    assert run("imported", "os.fork", there) == {"connect": "done", "ended": "0"}
