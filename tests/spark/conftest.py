"""Each version of Spark, started once for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
from headrace.config import store_config
from headrace.wiring import Service
from spark.spark import PROFILES, Spark


@pytest.fixture(scope="session", params=PROFILES)
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Spark 3.5 with Delta 3.3, and Spark 4.1 with Delta 4.4."""
    started = Spark(request.param, tmp_path_factory.mktemp(f"spark-{request.param}"))
    yield started
    started.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the store."""
    return tmp_path / "lake"


@pytest.fixture
def store(root: Path) -> Iterator[hr.FeatureStore]:
    """Embedded, as Spark needs the files."""
    with hr.connect(root) as opened:
        yield opened


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the store of which a file's service is."""
    return tmp_path_factory.mktemp("served") / "lake"


@pytest.fixture(scope="module")
def owner(lake: Path) -> Iterator[hr.FeatureStore]:
    """That store, embedded beside its service."""
    with hr.connect(lake) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(owner: hr.FeatureStore, lake: Path) -> Iterator[str]:
    """That service, open to this machine."""
    service = Service(store_config(str(lake)), ["grpc://127.0.0.1:0"])
    yield service.listening[0]
    service.stop()
