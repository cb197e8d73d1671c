"""The database's revision: an empty one is made current, an older one on request, a newer one is refused."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from sqlalchemy import Connection, column, inspect, select, table

from headrace.errors import Unavailable, Unsupported
from headrace.registry.database import Database
from headrace.registry.failure import address
from headrace.registry.tables import HEAD, VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config


# Alembic hands the migration at work to its scripts by globals of the process.
_one_at_a_time = threading.Lock()


def is_current(database: Database) -> bool:
    """Whether a database is as this version of Headrace needs it; False for an empty one.

    Raises:
        Unavailable: the database is older.
        Unsupported: the database is newer.
    """
    if not database.is_there:
        return False
    with database.reading() as connection:
        found = _revision(connection)
    if found not in (None, HEAD):
        _check_known(database, found)
        raise Unavailable(
            f"the registry at {address(database.url)} is at revision {found}, and this Headrace needs {HEAD}",
            hint="headrace registry upgrade",
            details={"found": found, "needed": HEAD},
        )
    return found is not None


def upgrade(database: Database) -> None:
    """Bring an older or empty database to the newest revision; a current one is left alone.

    Several processes may do so at once: one works, the others wait for it.

    Raises:
        Unsupported: the database is newer.
    """
    database.use_write_ahead_log()
    with database.writing() as connection:
        found = _revision(connection)
        if found == HEAD:
            return
        if found is not None:
            _check_known(database, found)
        run(connection)


def run(connection: Connection, target: str = "head") -> None:
    """Run the migrations up to `target` inside the connection's transaction."""
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    with _one_at_a_time:
        command.upgrade(config, target)


def alembic_config() -> Config:
    """Alembic's settings: no file is read."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "headrace.registry:migrations")
    return config


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))


def _check_known(database: Database, found: str) -> None:
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    if found not in known:
        raise Unsupported(
            f"the registry at {address(database.url)} is at revision {found}, which a newer Headrace made",
            hint="upgrade headrace",
            details={"found": found, "needed": HEAD},
        )
