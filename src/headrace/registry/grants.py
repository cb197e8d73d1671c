"""Who may do what in a project: one grant for each user and group, or project."""

from __future__ import annotations

import msgspec
from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select

from headrace.errors import NotFound
from headrace.model.right import Grant
from headrace.registry.tables import access_grants

_PROJECT = ""
"""Stands for the whole project where a group's name would stand."""
_DECODER = msgspec.json.Decoder(Grant)
_COLUMNS = access_grants.c
_OF_PROJECT = select(_COLUMNS.definition).where(_COLUMNS.project == bindparam("project"))
_OF_USER = _OF_PROJECT.where(_COLUMNS.user_name == bindparam("user"))


def grants_of(connection: Connection, project: str, user: str) -> list[Grant]:
    return [
        _DECODER.decode(text) for text in connection.scalars(_OF_USER, {"project": project, "user": user})
    ]


def projects_of(connection: Connection, user: str) -> set[str]:
    """Those in which a user is granted something."""
    return set(connection.scalars(select(_COLUMNS.project).where(_COLUMNS.user_name == user).distinct()))


def all_grants(connection: Connection, project: str) -> list[Grant]:
    """By user, that of the project before those of groups."""
    found = [_DECODER.decode(text) for text in connection.scalars(_OF_PROJECT, {"project": project})]
    return sorted(found, key=lambda grant: (grant.user, grant.group or _PROJECT))


def is_admin(connection: Connection, user: str) -> bool:
    query = select(_COLUMNS.definition).where(_COLUMNS.user_name == user, _COLUMNS.group_name == _PROJECT)
    return any(_DECODER.decode(text).role == "admin" for text in connection.scalars(query))


def put_grant(connection: Connection, project: str, grant: Grant) -> None:
    """In place of the one that the user has in the project, or on the group."""
    group = grant.group or _PROJECT
    connection.execute(delete(access_grants).where(_one(project, grant.user, group)))
    text = msgspec.json.encode(grant).decode()
    key = {"project": project, "user_name": grant.user, "group_name": group}
    connection.execute(insert(access_grants), {**key, "definition": text})


def remove_grant(connection: Connection, project: str, user: str, group: str | None) -> None:
    """Raises NotFound."""
    done = connection.execute(delete(access_grants).where(_one(project, user, group or _PROJECT)))
    if done.rowcount == 0:
        on = f" on feature group {group}" if group else ""
        raise NotFound(
            f"{user} has no grant{on} in project {project}", hint="headrace grant list shows those there are"
        )


def forget_group(connection: Connection, project: str, group: str) -> None:
    """A group that takes the name later is another one."""
    connection.execute(delete(access_grants).where(_COLUMNS.project == project, _COLUMNS.group_name == group))


def _one(project: str, user: str, group: str) -> ColumnElement[bool]:
    return (_COLUMNS.project == project) & (_COLUMNS.user_name == user) & (_COLUMNS.group_name == group)
