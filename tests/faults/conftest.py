"""A PostgreSQL for the registries of some stores."""

from postgres import postgres_database, postgres_url

__all__ = ["postgres_database", "postgres_url"]
