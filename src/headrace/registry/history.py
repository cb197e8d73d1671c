"""What was asked before: the last so many asks of each project."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy import delete, insert, select

from headrace.model.ask import Ask
from headrace.registry.database import Database
from headrace.registry.tables import asks

_KEPT = 5_000
_AT_ONCE = 200
_DECODER = msgspec.json.Decoder(Ask)


class History:
    """Asks of all projects, of all services of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, asked: Sequence[tuple[str, Ask]]) -> None:
        """Remember asks of projects, and forget old ones of theirs."""
        rows = [{"project": name, "definition": msgspec.json.encode(ask).decode()} for name, ask in asked]
        with self._database.writing() as connection:
            connection.execute(insert(asks), rows)
            for project in sorted({name for name, _ in asked}):
                ids = select(asks.c.id).where(asks.c.project == project)
                oldest = connection.scalar(ids.order_by(asks.c.id.desc()).offset(_KEPT).limit(1))
                if oldest is not None:
                    connection.execute(delete(asks).where(asks.c.project == project, asks.c.id <= oldest))

    def since(self, last: int) -> tuple[list[tuple[str, Ask]], int]:
        """Some asks after a number, with their projects, in order, and the number of the last of them; the same number
        where there is none.
        """
        query = (
            select(asks.c.id, asks.c.project, asks.c.definition)
            .where(asks.c.id > last)
            .order_by(asks.c.id)
            .limit(_AT_ONCE)
        )
        found = []
        with self._database.reading() as connection:
            for number, project, definition in connection.execute(query):
                last = number
                try:
                    found.append((project, _DECODER.decode(definition)))
                except msgspec.MsgspecError:
                    continue  # of a newer Headrace
        return found, last
