"""Who may do what in a project."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec
import pyarrow as pa

from headrace.errors import InvalidArgument, UnknownColumn
from headrace.model.name import check_columns, check_name
from headrace.model.struct import know

Role = Literal["reader", "writer", "admin"]

_ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
_LONGEST_USER = 255


class Grant(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one user may do.

    Args:
        user: as the service knows them, by a certificate or a token.
        role: a reader reads; a writer also makes groups, views and training datasets, and changes rows; an admin also
            registers tables of others, deletes groups, vacuums, grants, and sees what a service keeps.
        group: a feature group, in all its versions; None is all that is in the project.
        columns: of the group, beside those that it is declared with; none means all.
    """

    user: str
    role: Role
    group: str | None = None
    columns: tuple[str, ...] = ()


class Rights(msgspec.Struct, frozen=True):
    """What one user may do in one project: the role there, and grants of single groups."""

    user: str
    role: Role | None = None
    groups: tuple[Grant, ...] = ()

    @classmethod
    def of(cls, user: str, grants: list[Grant]) -> Rights:
        """Those that the grants to this user give."""
        role = next((grant.role for grant in grants if grant.group is None), None)
        return cls(user, role, tuple(grant for grant in grants if grant.group is not None))

    def role_in(self, group: str) -> Role | None:
        """The role on one group; None sees nothing of it."""
        roles = [self.role, *(grant.role for grant in self.groups if grant.group == group)]
        return max((role for role in roles if role is not None), key=_ROLES.index, default=None)

    def columns_of(self, group: str) -> frozenset[str] | None:
        """The columns that are seen beside those that the group is declared with; None is all."""
        if self.role is not None:
            return None
        columns = next((grant.columns for grant in self.groups if grant.group == group), ())
        return frozenset(columns) or None


OWNER = Rights("", "admin")
"""Whoever opened the store itself, and is asked by nobody."""


def is_enough(role: Role | None, needed: Role) -> bool:
    return role is not None and _ROLES.index(role) >= _ROLES.index(needed)


def check_user(user: object) -> str:
    """Raises InvalidArgument for what can name no user."""
    if not isinstance(user, str) or not 0 < len(user) <= _LONGEST_USER or not user.isprintable():
        raise InvalidArgument(
            f"{user!r} names no user",
            hint=f"a user is named by 1 to {_LONGEST_USER} characters that can be printed",
        )
    return user


def check_grant(grant: Grant) -> Grant:
    """Raises InvalidArgument, InvalidName."""
    check_user(grant.user)
    if grant.role not in _ROLES:
        raise InvalidArgument(f"{grant.role!r} is no role", hint=f"use {', '.join(_ROLES)}")
    if grant.group is not None:
        check_name("feature group", grant.group)
        if grant.role == "admin":
            raise InvalidArgument("an admin is one of a project", hint="leave the group out")
    if grant.columns:
        if grant.group is None or grant.role != "reader":
            raise InvalidArgument("columns are granted to readers of one feature group")
        check_columns(f"the grant to {grant.user}", grant.columns)
    return grant


def check_granted(grant: Grant, schemas: Collection[pa.Schema | None]) -> None:
    """Raises UnknownColumn if a column of the grant is in no version of its group.

    Args:
        schemas: of each version; None says nothing of what it has, or will have.
    """
    there = {name for schema in schemas if schema is not None for name in schema.names}
    missing = [name for name in grant.columns if name not in there]
    if missing and there and None not in schemas:
        raise UnknownColumn(
            f"feature group {grant.group} has no column {', '.join(map(repr, missing))}",
            hint=f"it has {', '.join(sorted(there)[:20])}",
        )


know(Grant)
