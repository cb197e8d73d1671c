"""Registries in SQLite and in a real PostgreSQL, and processes that use them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.registry import Registry
from postgres import postgres_database, postgres_url

__all__ = ["postgres_database", "postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'registry.db'}"
    return request.getfixturevalue("postgres_database")


@pytest.fixture
def registry(url: str) -> Iterator[Registry]:
    opened = Registry.open(url)
    yield opened
    opened.close()


class Actor:
    """Another process: runs the calls of `actor.py`, one after the other."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("actor.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send(self, *call: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(call) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def call(self, *call: Any) -> Any:
        self.send(*call)
        return self.answer()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def leave(self) -> None:
        self._process.communicate()


class Crew(list[Actor]):
    """Actors that act at once."""

    def call(self, *call: Any) -> list[Any]:
        for actor in self:
            actor.send(*call)
        return [actor.answer() for actor in self]


@pytest.fixture(scope="session")
def idle_crew() -> Iterator[Crew]:
    crew = Crew(Actor() for _ in range(4))
    yield crew
    for actor in crew:
        actor.leave()


@pytest.fixture
def crew(idle_crew: Crew) -> Iterator[Crew]:
    """Four processes, with no registry open."""
    yield idle_crew
    idle_crew.call("close")


@pytest.fixture
def victim() -> Iterator[Actor]:
    """A process to be killed."""
    actor = Actor()
    yield actor
    actor.kill()
