"""Stores with a little data, as folders and behind a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headrace as hr
from cli.helpers import Ran, fill
from conftest import start_server
from headrace.cli.app import app, run
from headrace.config import DEBUG_VARIABLE, REGISTRY_VARIABLE, STORE_VARIABLE, TOKEN_VARIABLE


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that all tests read and none changes."""
    root = tmp_path_factory.mktemp("cli") / "lake"
    fill(root)
    return root


@pytest.fixture(scope="session")
def service(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service of `lake`."""
    started = start_server(lake, tmp_path_factory.mktemp("cli") / "log")
    yield started.url
    started.stop()


@pytest.fixture(params=["folder", "service"])
def where(request: pytest.FixtureRequest, lake: Path) -> str:
    """What to give as --store: the lake itself, and the service in front of it."""
    return str(lake) if request.param == "folder" else request.getfixturevalue("service")


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command in this process, for what does not depend on a process of its own: it takes no seconds."""
    for name in (STORE_VARIABLE, REGISTRY_VARIABLE, DEBUG_VARIABLE, TOKEN_VARIABLE):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object, **environment: str) -> Ran:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        code = run(app, list(map(str, arguments)))
        return Ran(code, *capfd.readouterr())

    return call


@pytest.fixture
def own(tmp_path: Path) -> Iterator[hr.FeatureStore]:
    """A store of this test alone, in `tmp_path / "own"`, with an empty group `weather`."""
    with hr.connect(tmp_path / "own") as fs:
        fs.create_feature_group("weather", primary_key=["origin"], event_time="seen")
        yield fs


@pytest.fixture
def on_own(own: hr.FeatureStore, tmp_path: Path, command: Callable[..., Ran]) -> Callable[..., Ran]:
    """Runs a command on `own`, in this process."""
    return lambda *arguments: command(*arguments, "--store", tmp_path / "own")
