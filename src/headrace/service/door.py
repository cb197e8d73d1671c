"""Who calls the service: the one place where that is decided."""

from __future__ import annotations

import dataclasses
import os
import re

from headrace.config import TLS
from headrace.errors import InvalidArgument, Unauthenticated
from headrace.model.right import check_user


@dataclasses.dataclass(frozen=True)
class Access:
    """How callers say who they are.

    Args:
        client_ca: PEM file of the authorities that certificates of clients are signed by. A certificate names its user
            by its first subject alternative name, or where it has none, by its common name (what gRPC hands on).
        user_pattern: a regular expression that this name must match in full; its group, if it has one, is the user.
    """

    client_ca: str | os.PathLike[str] | None = None
    user_pattern: str | None = None

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
        return self.client_ca is None

    def read_client_ca(self) -> bytes | None:
        """Raises TLSError."""
        return TLS(self.client_ca).read_ca()


class Door:
    """Tells the users of calls by what `access` says."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._pattern = None if access.user_pattern is None else _compiled(access.user_pattern)

    def user(self, peer: bytes) -> str | None:
        """The user of a call; None where nobody is asked, and everybody may do everything.

        Args:
            peer: the name in the certificate that the client showed, as gRPC hands it on.

        Raises:
            Unauthenticated: nobody is named.
        """
        if self.access.is_open:
            return None
        name = peer.decode("utf-8", "replace")
        if not name:
            raise Unauthenticated("the service asks for a certificate, and none was shown")
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
