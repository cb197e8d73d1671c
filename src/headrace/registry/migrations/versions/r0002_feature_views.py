"""Feature views, their tags, and the feature groups that they need."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "feature_view_name",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("last_version", sa.Integer, nullable=False),
    )
    op.create_table(
        "feature_view",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["project", "name"], ["feature_view_name.project", "feature_view_name.name"]),
    )
    op.create_table(
        "feature_view_tag",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        _of_view(),
    )
    op.create_table(
        "feature_view_group",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("group_name", sa.Text, primary_key=True),
        sa.Column("group_version", sa.Integer, primary_key=True, autoincrement=False),
        _of_view(),
    )
    op.create_index(
        "ix_feature_view_group_project_group_name_group_version",
        "feature_view_group",
        ["project", "group_name", "group_version"],
    )


def _of_view() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project", "name", "version"],
        ["feature_view.project", "feature_view.name", "feature_view.version"],
        ondelete="CASCADE",
    )
