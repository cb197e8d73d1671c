"""Tokens that name users: kept so that whoever reads the registry cannot make one.

A token is `hr_<id>_<secret>`. Of the secret, 256 random bits, its SHA-256 is kept. A password would need a slow hash,
since so few are likely that all can be tried; of these none is likelier than another, and to try a part of 2**256 that
counts is beyond anybody, however fast the hash is.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import re
import secrets

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select

from headrace.errors import LimitExceeded, NotFound, Unauthenticated
from headrace.model.token import NewToken, Token
from headrace.registry.tables import access_tokens

_TEXT = re.compile(r"hr_([0-9a-f]{16})_([0-9a-f]{64})")
_MOST_OF_A_USER = 100
_EXPIRED_FOR = dt.timedelta(days=30)
_DECODER = msgspec.json.Decoder(Token)
_COLUMNS = access_tokens.c
_ONE = select(_COLUMNS.digest, _COLUMNS.definition).where(_COLUMNS.id == bindparam("id"))
_ALL = select(_COLUMNS.definition)
_NOBODYS = "0" * 64
"""Compared where there is no such token, so that this takes as long."""


def add(connection: Connection, user: str, lifetime: dt.timedelta, description: str) -> NewToken:
    """A new token. Raises LimitExceeded: the user has too many."""
    now = dt.datetime.now(dt.UTC)
    kept = 0
    for token in of_user(connection, user):
        if token.expires + _EXPIRED_FOR < now:
            remove(connection, token.id, None)
        else:
            kept += 1
    if kept >= _MOST_OF_A_USER:
        raise LimitExceeded(
            f"{user} has {kept} tokens, and may have no more", hint="revoke some: headrace token list"
        )
    token = Token(secrets.token_hex(8), user, now, now + lifetime, description)
    secret = secrets.token_hex(32)
    row = {"id": token.id, "user_name": user, "digest": _digest(secret)}
    connection.execute(insert(access_tokens), {**row, "definition": msgspec.json.encode(token).decode()})
    return NewToken(**msgspec.structs.asdict(token), text=f"hr_{token.id}_{secret}")


def everybodys(connection: Connection) -> list[Token]:
    """Of all users, by user and time."""
    found = [_DECODER.decode(text) for text in connection.scalars(_ALL)]
    return sorted(found, key=lambda token: (token.user, token.created))


def of_user(connection: Connection, user: str) -> list[Token]:
    """By time."""
    found = [_DECODER.decode(text) for text in connection.scalars(_ALL.where(_COLUMNS.user_name == user))]
    return sorted(found, key=lambda token: token.created)


def remove(connection: Connection, token_id: str, user: str | None) -> None:
    """Take back a token; with `user`, one of theirs. Raises NotFound."""
    query = delete(access_tokens).where(_COLUMNS.id == token_id)
    if user is not None:
        query = query.where(_COLUMNS.user_name == user)
    if connection.execute(query).rowcount == 0:
        raise NotFound(f"there is no token {token_id!r}", hint="headrace token list shows those there are")


def parse(text: str) -> tuple[str, str] | None:
    """Id and secret of what looks like a token."""
    parts = _TEXT.fullmatch(text)
    return None if parts is None else (parts[1], parts[2])


def user_of(connection: Connection, token_id: str, secret: str) -> str | None:
    """Whom a token names; None where there is none, or it was revoked. Raises Unauthenticated: it has expired."""
    row = connection.execute(_ONE, {"id": token_id}).one_or_none()
    is_right = hmac.compare_digest(_NOBODYS if row is None else row.digest, _digest(secret))
    if row is None or not is_right:
        return None
    token = _DECODER.decode(row.definition)
    if token.expires <= dt.datetime.now(dt.UTC):
        raise Unauthenticated(
            f"the token {token.id} has expired", hint="make another one: headrace token create"
        )
    return token.user


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
