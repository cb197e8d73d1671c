"""The tables of the registry. What changes here needs a migration beside it."""

from __future__ import annotations

import dataclasses

from sqlalchemy import Column, ForeignKeyConstraint, Identity, Index, Integer, MetaData, Table, Text

VERSION_TABLE = "headrace_revision"
"""Where Alembic keeps the revision: a name of our own, since the database may serve others too."""

HEAD = "0007"
"""The newest migration. Known here so that a current database is opened without importing Alembic."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


@dataclasses.dataclass(frozen=True)
class Tables:
    """The tables of one kind of definition.

    Args:
        names: every name ever used, with the highest version it had: deleted versions are not given again.
        entries: the definitions, as JSON.
        tags: the definitions' tags once more, one a row, to search by.
    """

    names: Table
    entries: Table
    tags: Table


def _tables(noun: str) -> Tables:
    names = Table(
        f"{noun}_name",
        metadata,
        Column("project", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("last_version", Integer, nullable=False),
    )
    entries = Table(
        noun,
        metadata,
        *_key(),
        Column("definition", Text, nullable=False),
        ForeignKeyConstraint(["project", "name"], [f"{noun}_name.project", f"{noun}_name.name"]),
    )
    tags = Table(
        f"{noun}_tag",
        metadata,
        *_key(),
        Column("key", Text, primary_key=True),
        Column("value", Text, nullable=False),
        _belongs_to(noun),
    )
    return Tables(names, entries, tags)


def _key() -> list[Column[str] | Column[int]]:
    return [
        Column("project", Text, primary_key=True),
        Column("name", Text, primary_key=True),
        Column("version", Integer, primary_key=True, autoincrement=False),
    ]


def _belongs_to(noun: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["project", "name", "version"],
        [f"{noun}.project", f"{noun}.name", f"{noun}.version"],
        ondelete="CASCADE",
    )


GROUPS = _tables("feature_group")
VIEWS = _tables("feature_view")
DATASETS = _tables("training_dataset")


def _needs(noun: str) -> Table:
    """Which groups each needs.

    No foreign key to the group: a view outlives a group that was deleted by force, and needs it again when the
    group comes back.
    """
    return Table(
        f"{noun}_group",
        metadata,
        *_key(),
        Column("group_name", Text, primary_key=True),
        Column("group_version", Integer, primary_key=True, autoincrement=False),
        _belongs_to(noun),
        Index(None, "project", "group_name", "group_version"),
    )


store = Table(
    "headrace_store", metadata, Column("id", Text, primary_key=True), Column("root", Text, nullable=False)
)
"""One row at most: the store whose registry this is."""

access_grants = Table(
    "access_grant",
    metadata,
    Column("project", Text, primary_key=True),
    Column("user_name", Text, primary_key=True),
    Column("group_name", Text, primary_key=True),
    Column("definition", Text, nullable=False),
)
"""What each user may do. The group is empty where a grant is of the whole project."""

access_tokens = Table(
    "access_token",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_name", Text, nullable=False, index=True),
    Column("digest", Text, nullable=False),
    Column("definition", Text, nullable=False),
)
"""Tokens that name users, by the SHA-256 of their secrets."""

service_secrets = Table(
    "service_secret", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False)
)
"""What services of one store must know alike, and nobody else may."""

asks = Table(
    "ask",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("project", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Index(None, "project", "id"),
)
"""What was asked for, the oldest first."""

view_groups = _needs("feature_view")
dataset_groups = _needs("training_dataset")
