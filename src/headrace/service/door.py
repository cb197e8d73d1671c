"""Who calls the service: the one place where that is decided."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Sequence

from headrace.errors import InvalidArgument, Unauthenticated
from headrace.model.right import check_user
from headrace.service.issuer import Issuer

_HOW = "give one with token=…, --token-file or HEADRACE_TOKEN"


@dataclasses.dataclass(frozen=True)
class Access:
    """How callers say who they are.

    Args:
        client_ca: PEM file of the authorities that certificates of clients are signed by. A certificate names its user
            by its first subject alternative name, or where it has none, by its common name (what gRPC hands on).
        user_pattern: a regular expression that this name must match in full; its group, if it has one, is the user.
        tokens: tokens that the store has issued are taken.
        issuer: tokens that it has signed are taken.
    """

    client_ca: str | os.PathLike[str] | None = None
    user_pattern: str | None = None
    tokens: bool = False
    issuer: Issuer | None = None

    def __post_init__(self) -> None:
        if self.user_pattern is not None:
            if self.client_ca is None:
                raise InvalidArgument(
                    "a pattern for users was given, and no authority for their certificates"
                )
            _compiled(self.user_pattern)

    @property
    def is_open(self) -> bool:
        """Nobody is asked."""
        return not (self.takes_certificates or self.takes_tokens)

    @property
    def takes_certificates(self) -> bool:
        return self.client_ca is not None

    @property
    def takes_tokens(self) -> bool:
        return self.tokens or self.issuer is not None


class Door:
    """Tells the users of calls by what `access` says.

    Args:
        takers: each tells whom a token names; None where it is none that it knows.
    """

    def __init__(self, access: Access, takers: Sequence[Callable[[str], str | None]] = ()) -> None:
        self._access = access
        self._takers = takers
        self._pattern = None if access.user_pattern is None else _compiled(access.user_pattern)

    @property
    def is_open(self) -> bool:
        """Nobody is asked."""
        return self._access.is_open

    def user(self, peer: bytes, authorization: Sequence[str] = ()) -> str | None:
        """The user of a call; None where nobody is asked, and everybody may do everything.

        A token that is shown names the user, whatever certificate is shown beside it.

        Args:
            peer: the name in the certificate that the client showed, as gRPC hands it on.
            authorization: the values of this header.

        Raises:
            Unauthenticated: nobody is named.
        """
        if self._access.is_open:
            return None
        if authorization:
            return self._named_by_token(authorization)
        if peer and self._access.takes_certificates:
            return self._named_by_certificate(peer.decode("utf-8", "replace"))
        if not self._access.takes_tokens:
            raise Unauthenticated("the service asks for a certificate, and none was shown")
        raise Unauthenticated("the service asks for a token, and none was shown", hint=_HOW)

    def _named_by_token(self, authorization: Sequence[str]) -> str:
        """Whatever is wrong with it, but that it has expired, is told alike: nobody finds out which there are."""
        scheme, _, token = authorization[0].partition(" ")
        if len(authorization) == 1 and scheme.lower() == "bearer":
            for take in self._takers:
                user = take(token)
                if user is not None:
                    return user
        raise Unauthenticated("the token is none that this service takes", hint=_HOW)

    def _named_by_certificate(self, name: str) -> str:
        if self._pattern is not None:
            found = self._pattern.fullmatch(name)
            if found is None:
                raise Unauthenticated(f"the certificate of {name!r} names no user of this service")
            name = found.group(1) if self._pattern.groups else name
        try:
            return check_user(name)
        except InvalidArgument as error:
            raise Unauthenticated(f"the certificate names no user: {error.message}") from None


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise InvalidArgument(f"{pattern!r} is no regular expression: {error}") from None
    if found.groups > 1:
        raise InvalidArgument(
            f"{pattern!r} has {found.groups} groups", hint="one names the user; write (?:…) for others"
        )
    return found
