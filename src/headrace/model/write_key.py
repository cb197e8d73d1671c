"""The key that names a write, so that its outcome can be asked for and running it again changes nothing."""

from __future__ import annotations

import uuid

PASSING = "once/"
"""Begins keys of writes that nobody means to run again: the log of a table may forget them after some days."""


def passing_key() -> str:
    """A new key, for a write that was given none."""
    return f"{PASSING}{uuid.uuid4().hex}"
