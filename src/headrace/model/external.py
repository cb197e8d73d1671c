"""Tables that stay in another database."""

from __future__ import annotations

import re
from typing import get_args

import msgspec

from headrace.errors import InvalidArgument, Unsupported
from headrace.model.choice import DriverName
from headrace.model.text import check_text

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:/[^\0]*")
_LONGEST = 100_000


class ExternalSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an external feature group is of: a table, or a query.

    Args:
        uri: where the database's URI is found: `env:NAME` or `file:/path`. The URI itself is nowhere kept.
        table: with its schema before it, if that is needed: `public.planes`.
        query: in the database's own SQL.
        freshness: for how long a result with its rows may be given again, in microseconds; None is for not at all.
    """

    driver: DriverName
    uri: str
    table: str | None = None
    query: str | None = None
    freshness: int | None = None

    @property
    def shown(self) -> str:
        """For people."""
        what = self.table if self.table is not None else "a query"
        return f"{what} in {self.driver} ({self.uri})"


def only_now(ref: str) -> Unsupported:
    """What whoever asks how a group was in the past is told."""
    return Unsupported(
        f"{ref} is in another database, and can be read only as it is now",
        hint="a training dataset keeps what was read; or insert its rows into a feature group of Headrace",
    )


def check_source(source: ExternalSource) -> None:
    """Raises InvalidArgument. What is given for a URI is not repeated: it may be one, with a password in it."""
    if source.driver not in get_args(DriverName):
        raise InvalidArgument(
            f"driver={source.driver!r} is refused", hint=f"use one of {', '.join(get_args(DriverName))}"
        )
    if not isinstance(source.uri, str) or not _REFERENCE.fullmatch(source.uri):
        raise InvalidArgument(
            "uri= does not name where the database's URI is found",
            hint="put the URI into an environment variable where the query runs, and give uri='env:NAME'; or into "
            "a file there, and give uri='file:/path/to/it', an absolute path; of SQLite, that of the database itself",
        )
    if source.freshness is not None and source.freshness <= 0:
        raise InvalidArgument(
            "freshness= of zero is refused", hint="leave it out: then nothing is given again"
        )
    if (source.table is None) == (source.query is None):
        raise InvalidArgument("an external feature group is of a table or of a query: give one of them")
    name = "query" if source.table is None else "table"
    text = source.query or source.table or ""
    if not check_text(name, text).strip() or "\0" in text or len(text) > _LONGEST:
        raise InvalidArgument(
            f"{name}= is empty, holds a NUL character, or is longer than {_LONGEST} characters"
        )
    if source.table is not None and not all(source.table.split(".")):
        raise InvalidArgument(
            f"table={source.table!r} has an empty part",
            hint="write schema.table; a name with dots takes query=",
        )
