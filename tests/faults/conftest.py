"""A PostgreSQL for the registries of some stores, and the environment as it was."""

import os
from collections.abc import Iterator

import pytest

from postgres import postgres_database, postgres_url

__all__ = ["postgres_database", "postgres_url"]


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """A place to connect to sets a part of it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
