"""Feature groups and feature views by project and version, in SQLite or PostgreSQL.

tables → failure → database → migration → catalog → registry
"""

from headrace.registry.registry import Registry

__all__ = ["Registry"]
