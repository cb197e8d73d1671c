"""Who may do what in a project."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.backend import Backend
from headrace.errors import InvalidArgument
from headrace.model.right import Grant, Role, check_grant, check_user


class Grants:
    """The grants of one project, which a service asks for. To whoever opens the store itself all is allowed."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def add(self, user: str, role: Role, *, group: str | None = None, columns: Sequence[str] = ()) -> Grant:
        """Let a user do something, in place of what they were granted in the project or on the group before.

        Args:
            user: as the service knows them, by a certificate or a token.
            role: "reader" reads; "writer" also makes groups, views and training datasets, and changes rows; "admin"
                also registers tables of others, deletes groups, vacuums, grants, and sees what a service keeps.
            group: one feature group, in all its versions; None is everything in the project.
            columns: of the group, beside those that it is declared with; none means all. For readers.

        Raises:
            NotFound, InvalidArgument; PermissionDenied: the caller is no admin.
        """
        if isinstance(columns, str):
            raise InvalidArgument(f"columns={columns!r} is one text", hint="give a list of names")
        return self._backend.add_grant(check_grant(Grant(user, role, group, tuple(columns))))

    def list(self) -> list[Grant]:
        """All, by user; whoever is no admin sees their own."""
        return self._backend.list_grants()

    def remove(self, user: str, *, group: str | None = None) -> None:
        """Take back the grant in the project, or that on one group.

        Raises:
            NotFound; PermissionDenied: the caller is no admin.
        """
        self._backend.remove_grant(check_user(user), group)
