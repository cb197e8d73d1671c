"""Tokens that a store issues: each names a user to its services."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from headrace.errors import InvalidArgument
from headrace.model.duration import Duration, parse_duration
from headrace.model.struct import know
from headrace.model.text import check_text

_DAY = 86_400_000_000
_MOST_DAYS = 366
_LONGEST_DESCRIPTION = 500


class Token(msgspec.Struct, frozen=True):
    """What is kept of a token; its secret is not.

    Args:
        id: by which it is revoked; a part of the token itself.
        user: whom it names.
        expires: from then on it is refused.
        description: for people.
    """

    id: str
    user: str
    created: dt.datetime
    expires: dt.datetime
    description: str


class NewToken(Token, frozen=True, kw_only=True):
    """A token as it is told once, to whoever made it.

    Args:
        text: the token itself, to be kept like a password.
    """

    text: str

    def __repr__(self) -> str:
        return f"NewToken(id={self.id!r}, user={self.user!r}, expires={self.expires.isoformat()!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("id", self.id), ("user", self.user), ("expires", self.expires)]


def parse_lifetime(expires: Duration) -> int:
    """For how long a token is good, in microseconds. Raises InvalidArgument: not at all, or for more than a year."""
    if expires == "unlimited":
        raise InvalidArgument(
            "a token that never expires is refused",
            hint=f'expires="{_MOST_DAYS}d" is the longest, and a new one can be made before',
        )
    return check_lifetime(parse_duration("expires", expires))


def check_lifetime(micros: int) -> int:
    """Raises InvalidArgument."""
    if not 0 < micros <= _MOST_DAYS * _DAY:
        raise InvalidArgument(f"a token is good for a while, and for {_MOST_DAYS} days at most")
    return micros


def check_token_description(description: object) -> str:
    """Raises InvalidArgument."""
    text = check_text("description", description)
    if len(text) > _LONGEST_DESCRIPTION:
        raise InvalidArgument(f"a token's description has {_LONGEST_DESCRIPTION} characters at most")
    return text


know(Token, NewToken)
