"""The store whose registry this is."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "headrace_store",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("root", sa.Text, nullable=False),
    )
