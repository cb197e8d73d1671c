"""The revisions of the database: empty, older, newer."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from headrace.errors import Unavailable, Unsupported
from headrace.model.definition import GroupDefinition
from headrace.registry import Registry, migration
from headrace.registry.catalog import Catalog
from headrace.registry.database import Database
from headrace.registry.tables import GROUPS, HEAD

WEATHER = GroupDefinition(name="weather", version=1, primary_key=("id",), tags={"team": "x"})


@pytest.fixture
def older(url: str) -> str:
    """A database at the first revision, with a feature group."""
    database = Database(url)
    with database.writing() as connection:
        migration.run(connection, "0001")
        Catalog("feature group", GROUPS, GroupDefinition).add(connection, "p", WEATHER)
    database.close()
    return url


def set_revision(url: str, revision: str) -> None:
    database = Database(url)
    with database.writing() as connection:
        connection.execute(text("UPDATE headrace_revision SET version_num = :found"), {"found": revision})
    database.close()


def test_the_newest_migration_is_known() -> None:
    assert ScriptDirectory.from_config(migration.alembic_config()).get_heads() == [HEAD]


def test_the_migrations_make_the_tables(url: str) -> None:
    Registry.upgrade(url)
    config = migration.alembic_config()
    config.stdout = io.StringIO()  # not that of the time when Alembic was imported, which may be closed
    database = Database(url)
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.check(config)
    database.close()


def test_an_older_database_wants_an_upgrade(older: str) -> None:
    with pytest.raises(Unavailable, match=f"at revision 0001, and this Headrace needs {HEAD}") as caught:
        Registry.open(older)
    assert caught.value.hint == "headrace registry upgrade"
    Registry.upgrade(older)
    registry = Registry.open(older)
    assert registry.list_groups("p", None, {"team": "x"}) == [WEATHER]
    assert registry.list_views("p", None, {}) == []
    registry.close()


def test_several_processes_upgrade_at_once(older: str, crew: Any) -> None:
    assert crew.call("upgrade", older) == ["upgraded"] * 4
    assert crew.call("open", older) == ["open"] * 4


def test_a_newer_database_is_refused(url: str) -> None:
    Registry.upgrade(url)
    set_revision(url, "9999")
    for use in (Registry.open, Registry.upgrade):
        with pytest.raises(Unsupported, match="at revision 9999, which a newer Headrace made") as caught:
            use(url)
        assert caught.value.hint == "upgrade headrace"


def test_an_upgrade_of_a_current_database_changes_nothing(url: str) -> None:
    registry = Registry.open(url)
    registry.create_group("p", WEATHER)
    Registry.upgrade(url)
    assert registry.get_group("p", "weather", None) == WEATHER
    registry.close()


def test_a_failed_migration_leaves_nothing(url: str) -> None:
    database = Database(url)
    with suppress(KeyboardInterrupt), database.writing() as connection:
        migration.run(connection)
        raise KeyboardInterrupt
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == []
    database.close()


def test_threads_make_several_databases_at_once(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path}/{number}.db" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for registry in pool.map(Registry.open, urls):
            assert registry.create_group("p", WEATHER) == WEATHER
            registry.close()


def test_another_program_may_use_the_same_database(url: str) -> None:
    database = Database(url)
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
    registry = Registry.open(url)
    registry.create_group("p", WEATHER)
    registry.close()
    with database.reading() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "theirs"
    database.close()


def test_a_current_database_is_opened_without_alembic(url: str, victim: Any) -> None:
    Registry.upgrade(url)
    assert victim.call("open", url) == "open"
    assert victim.call("create_group", "weather", 0) == 1
    assert victim.call("has_imported", "alembic") is False
