"""The command `headrace`: nouns, then verbs."""

from headrace.cli.app import main

__all__ = ["main"]
