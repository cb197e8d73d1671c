"""Tokens by which users say who they are."""

from __future__ import annotations

from headrace.backend import Backend
from headrace.model.duration import Duration
from headrace.model.right import check_user
from headrace.model.text import check_text
from headrace.model.token import NewToken, Token, check_token_description, parse_lifetime


class Tokens:
    """The tokens of a store, for all its projects. A service that takes them is given one by `connect(token=…)`.

    Whoever opens the store itself makes, sees and revokes those of everybody; users of a service their own.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def create(
        self, user: str | None = None, *, expires: Duration = "30d", description: str = ""
    ) -> NewToken:
        """A new token, whose `text` is told by nothing but this answer.

        Args:
            user: whom it names; None is the caller, at a service.
            expires: for how long it is good: 366 days at most.
            description: for people, such as what it is used for.

        Raises:
            InvalidArgument; PermissionDenied: of another user; LimitExceeded: the user has 100 already.
        """
        lifetime = parse_lifetime(expires)
        named = None if user is None else check_user(user)
        return self._backend.create_token(named, lifetime, check_token_description(description))

    def list(self) -> list[Token]:
        """All that were not revoked, by user and time, also those that have expired a while ago."""
        return self._backend.list_tokens()

    def revoke(self, token_id: str) -> None:
        """Have the services of the store refuse a token, from the next call on.

        Raises:
            NotFound: there is none, or it is another's.
        """
        self._backend.revoke_token(check_text("token_id", token_id))
