"""Tokens that name users."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "access_token",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_index("ix_access_token_user_name", "access_token", ["user_name"])
