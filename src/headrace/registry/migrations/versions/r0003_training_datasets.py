"""Training datasets, their tags, and the feature groups that they read."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "training_dataset_name",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("last_version", sa.Integer, nullable=False),
    )
    op.create_table(
        "training_dataset",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["project", "name"], ["training_dataset_name.project", "training_dataset_name.name"]
        ),
    )
    op.create_table(
        "training_dataset_tag",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        _of_dataset(),
    )
    op.create_table(
        "training_dataset_group",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("group_name", sa.Text, primary_key=True),
        sa.Column("group_version", sa.Integer, primary_key=True, autoincrement=False),
        _of_dataset(),
    )
    op.create_index(
        "ix_training_dataset_group_project_group_name_group_version",
        "training_dataset_group",
        ["project", "group_name", "group_version"],
    )


def _of_dataset() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project", "name", "version"],
        ["training_dataset.project", "training_dataset.name", "training_dataset.version"],
        ondelete="CASCADE",
    )
