"""What was asked before."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "ask",
        sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_index("ix_ask_project_id", "ask", ["project", "id"])
