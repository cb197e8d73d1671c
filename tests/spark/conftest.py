"""Each version of Spark, started once for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr
from spark.spark import PROFILES, Spark


def started(profile: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    spark = Spark(profile, tmp_path_factory.mktemp(f"spark-{profile}"))
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def spark_35(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Spark 3.5 with Delta 3.3."""
    yield from started("3.5", tmp_path_factory)


@pytest.fixture(scope="session")
def spark_41(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """Spark 4.1 with Delta 4.4."""
    yield from started("4.1", tmp_path_factory)


@pytest.fixture(params=PROFILES)
def spark(request: pytest.FixtureRequest) -> Spark:
    """Both, one after the other."""
    found: Spark = request.getfixturevalue(f"spark_{request.param.replace('.', '')}")
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the store."""
    return tmp_path / "lake"


@pytest.fixture
def store(root: Path) -> Iterator[hr.FeatureStore]:
    """Embedded, as Spark needs the files."""
    with hr.connect(root) as opened:
        yield opened
