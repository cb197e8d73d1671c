"""What goes wrong with a database comes out as an error of ours, and shows no password."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from headrace.errors import (
    AuthError,
    CorruptTable,
    HeadraceError,
    InvalidArgument,
    LimitExceeded,
    MissingDependency,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    Unavailable,
    Unsupported,
)
from headrace.model.definition import GroupDefinition
from headrace.registry import Registry, migration
from headrace.registry.database import Database, postgresql_engine, read_url, sqlite_file

WEATHER = GroupDefinition(name="weather", version=1, primary_key=("id",))


def whole_text(error: BaseException) -> str:
    """All that a traceback would show of an error."""
    chained = error.__cause__ or error.__context__
    details = repr(error.details) if isinstance(error, HeadraceError) else ""
    return f"{error!r} {error} {details}" + (whole_text(chained) if chained else "")


@pytest.mark.parametrize("options", ["", "?password=hunter2&sslpassword=hunter2"])
def test_a_server_that_does_not_answer_is_unavailable(options: str) -> None:
    with pytest.raises(Unavailable, match=r"postgresql://me:\*\*\*@127.0.0.1:1/db") as caught:
        Registry.open(f"postgresql://me:hunter2@127.0.0.1:1/db{options}")
    assert "hunter2" not in whole_text(caught.value)
    assert caught.value.retryable


def test_a_database_that_is_not_there_is_unavailable(postgres_url: str) -> None:
    with pytest.raises(Unavailable, match="nowhere"):
        Registry.open(postgres_url.replace("/postgres?", "/nowhere?"))


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("hunter2", InvalidArgument),
        ("postgresql://me:hunter2@host:port/db", InvalidArgument),
        ("postgresql://me:hunter2@127.0.0.1:1/db?no_such_option=1", InvalidArgument),
        ("mysql://me:hunter2@host/db", Unsupported),
        ("postgresql+asyncpg://me:hunter2@host/db", Unsupported),
        ("sqlite://", Unsupported),
        ("sqlite:///:memory:", Unsupported),
    ],
)
def test_a_url_of_nothing_we_know_is_refused(url: str, kind: type[HeadraceError]) -> None:
    with pytest.raises(kind) as caught:
        Registry.open(url)
    assert "hunter2" not in whole_text(caught.value)
    assert caught.value.hint


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependency, match=r'pip install "psycopg\[binary\]"') as caught:
        Registry.open("postgresql://me:hunter2@host/db")
    assert "hunter2" not in whole_text(caught.value)


def test_a_user_without_rights_is_denied(postgres_database: str) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as server:
        server.execute("DROP ROLE IF EXISTS guest")
        server.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(PermissionDenied, match="registry at postgresql://guest") as caught:
        Registry.open(postgres_database.replace("postgres@", "guest@"))
    assert isinstance(caught.value, AuthError)
    with psycopg.connect(postgres_database, autocommit=True) as server:
        server.execute("DROP ROLE guest")


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="its folder must exist"):
        Registry.open(f"sqlite:///{tmp_path}/none/registry.db")


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "registry.db").write_bytes(b"not a database, surely" * 100)
    with pytest.raises(CorruptTable, match="not a SQLite database"):
        Registry.open(f"sqlite:///{tmp_path}/registry.db")


def test_a_file_for_reading_alone_is_read(tmp_path: Path) -> None:
    Registry.upgrade(f"sqlite:///{tmp_path}/registry.db")
    registry = Registry.open(f"sqlite:///file:{tmp_path}/registry.db?mode=ro&uri=true")
    assert registry.list_groups("p", None, {}) == []
    with pytest.raises(PermissionDenied, match="must be writable"):
        registry.create_group("p", WEATHER)
    registry.close()


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/registry.db")
    migration.upgrade(database)
    registry = Registry(database)
    with database.reading() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))
        connection.execute(text(f"PRAGMA max_page_count = {pages + 2}"))
    long = {"t": "x" * 10_000}
    with pytest.raises(LimitExceeded, match="free space"):
        registry.create_group("p", GroupDefinition(name="long", version=1, primary_key=("id",), tags=long))
    with pytest.raises(NotFound):
        registry.get_group("p", "long", None)
    assert registry.create_group("p", WEATHER) == WEATHER
    registry.close()


def test_a_server_without_space_is_a_limit(postgres_database: str) -> None:
    registry = Registry.open(postgres_database)
    run_at_insert(
        postgres_database, "RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full'", "BEFORE INSERT"
    )
    with pytest.raises(LimitExceeded, match="free space"):
        registry.create_group("p", WEATHER)
    with pytest.raises(NotFound):
        registry.get_group("p", "weather", None)
    registry.close()


def test_a_connection_lost_before_the_commit_changes_nothing(postgres_database: str) -> None:
    registry = Registry.open(postgres_database)
    run_at_insert(postgres_database, "PERFORM pg_terminate_backend(pg_backend_pid())", "BEFORE INSERT")
    with pytest.raises(Unavailable):
        registry.create_group("p", WEATHER)
    with pytest.raises(NotFound):
        registry.get_group("p", "weather", None)
    registry.close()


def test_a_connection_lost_in_the_commit_leaves_the_outcome_unknown(postgres_database: str) -> None:
    registry = Registry.open(postgres_database)
    run_at_insert(
        postgres_database,
        "PERFORM pg_terminate_backend(pg_backend_pid())",
        "AFTER INSERT",
        "CONSTRAINT",
        "DEFERRABLE INITIALLY DEFERRED",
    )
    with pytest.raises(OutcomeUnknown, match="look whether the change is there"):
        registry.create_group("p", WEATHER)
    with pytest.raises(NotFound):
        registry.get_group("p", "weather", None)
    registry.close()


def test_idle_connections_that_the_server_closed_are_replaced(postgres_database: str) -> None:
    registry = Registry.open(postgres_database)
    registry.create_group("p", WEATHER)
    with psycopg.connect(postgres_database, autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert registry.get_group("p", "weather", None) == WEATHER
    registry.close()


def test_an_entry_that_cannot_be_read_is_named(url: str) -> None:
    database = Database(url)
    migration.upgrade(database)
    registry = Registry(database)
    registry.create_group("p", WEATHER)
    with database.writing() as connection:
        connection.execute(text("UPDATE feature_group SET definition = '{'"))
    with pytest.raises(CorruptTable, match="feature group weather in project p"):
        registry.get_group("p", "weather", None)
    registry.close()


def test_an_error_inside_a_write_rolls_it_back(url: str) -> None:
    database = Database(url)
    migration.upgrade(database)
    registry = Registry(database)
    with suppress(KeyboardInterrupt), database.writing() as connection:
        registry._groups.add(connection, "p", WEATHER)
        raise KeyboardInterrupt
    assert registry.create_group("p", WEATHER) == WEATHER
    registry.close()


def run_at_insert(url: str, body: str, when: str, kind: str = "", timing: str = "") -> None:
    """Have the server do something whenever a feature group is inserted."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            f"CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NEW; END $$"
        )
        server.execute(
            f"CREATE {kind} TRIGGER act {when} ON feature_group {timing} FOR EACH ROW EXECUTE FUNCTION act()"
        )


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///file:x.db?mode=memory&uri=true",
        "sqlite:///file:?uri=true",
        "sqlite:///x.db?mode=memory",
    ],
)
def test_memory_keeps_nothing(url: str) -> None:
    with pytest.raises(Unsupported, match=r"cannot be kept in memory"):
        read_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///file:x.db",
        "sqlite:///x.db?uri=true",
        "sqlite:////x.db?nolock=1&uri=true",
        "sqlite:///x\0.db",
    ],
)
def test_a_file_that_would_not_be_found_again(url: str) -> None:
    with pytest.raises(InvalidArgument):
        read_url(url)


def test_a_uri_of_sqlite_is_a_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = read_url("sqlite:///file:a b.db?uri=true")
    assert sqlite_file(url) == f"{tmp_path}/a b.db"
    Registry.open("sqlite:///file:a b.db?uri=true").close()
    assert (tmp_path / "a b.db").exists()


def test_an_at_in_a_password_is_not_taken_for_a_host() -> None:
    with pytest.raises(InvalidArgument, match=r"more than one @") as caught:
        read_url("postgresql://u:p@SECRET@127.0.0.1:1/db")
    assert "SECRET" not in f"{caught.value.message} {caught.value.hint}"


def test_a_machine_that_is_gone_is_noticed_in_a_minute(postgres_database: str) -> None:
    """And not after as long as TCP tries by itself."""
    engine = postgresql_engine(read_url(postgres_database))
    with engine.connect() as connection:
        told = connection.connection.dbapi_connection.info.get_parameters()
    assert (told["keepalives_idle"], told["tcp_user_timeout"]) == ("30", "60000")
    own = postgresql_engine(read_url(f"{postgres_database}&keepalives_idle=7"))
    with own.connect() as connection:
        assert connection.connection.dbapi_connection.info.get_parameters()["keepalives_idle"] == "7"
