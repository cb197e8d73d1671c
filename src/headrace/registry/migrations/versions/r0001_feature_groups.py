"""Feature groups and their tags."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "feature_group_name",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("last_version", sa.Integer, nullable=False),
    )
    op.create_table(
        "feature_group",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["project", "name"], ["feature_group_name.project", "feature_group_name.name"]
        ),
    )
    op.create_table(
        "feature_group_tag",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["project", "name", "version"],
            ["feature_group.project", "feature_group.name", "feature_group.version"],
            ondelete="CASCADE",
        ),
    )
