"""Tickets: what the service gave to a user is theirs, for a while, and nobody can make one."""

from __future__ import annotations

import hashlib
import hmac
import struct
import time

import msgspec

from headrace.errors import Unauthenticated
from headrace.model.expression import Value
from headrace.model.struct import know
from headrace.protocol import ReadCommand, encode

_MAC_BYTES = 32
_HEAD = struct.Struct(">Q")
_LIFETIME_S = 900
_HINT = "prepare the read again"


class Statement(msgspec.Struct, frozen=True, omit_defaults=True, tag="statement"):
    """Of a statement in SQL that a client of Flight SQL has prepared, and maybe given values for its parameters."""

    sql: str
    parameters: dict[str, Value | None] = {}


class CatalogCommand(msgspec.Struct, frozen=True, tag="catalog"):
    """To what a command of Flight SQL for metadata asks for."""

    command: bytes


Command = ReadCommand | Statement | CatalogCommand
know(Command)


class Tickets:
    """Issues tickets and takes them.

    Args:
        key: whoever has it can make tickets. All services of one store have the same.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._commands: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)

    def issue(
        self, user: str | None, project: str, command: Command, *, lifetime: int = _LIFETIME_S
    ) -> bytes:
        """A ticket that is good for so many seconds, a quarter of an hour by default."""
        told = _HEAD.pack(int(time.time()) + lifetime) + encode(command)
        return self._sealed(user, project, told) + told

    def take(self, user: str | None, project: str, ticket: bytes) -> Command:
        """What a ticket is for. Raises Unauthenticated: it is another's, of another project, made up, or too old."""
        seal, told = ticket[:_MAC_BYTES], ticket[_MAC_BYTES:]
        if not hmac.compare_digest(seal, self._sealed(user, project, told)):
            raise Unauthenticated("the ticket is none that this service gave to its bearer", hint=_HINT)
        (until,) = _HEAD.unpack_from(told)
        if time.time() > until:
            raise Unauthenticated("the ticket has expired", hint=_HINT)
        try:
            return self._commands.decode(told[_HEAD.size :])
        except msgspec.MsgspecError:
            raise Unauthenticated("the ticket is of another version of the service", hint=_HINT) from None

    def _sealed(self, user: str | None, project: str, told: bytes) -> bytes:
        bearer = encode([user, project])
        return hmac.digest(self._key, _HEAD.pack(len(bearer)) + bearer + told, hashlib.sha256)
