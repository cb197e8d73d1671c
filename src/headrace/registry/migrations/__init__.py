"""Alembic's migrations of the registry, one file a step; `tables.HEAD` names the last."""
