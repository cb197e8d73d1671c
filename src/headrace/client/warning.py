"""Warnings, which belong to a line of the user's program."""

from __future__ import annotations

import sys
import warnings


def warn(text: str) -> None:
    """Warn of what is right by the rules, and hardly what anybody wants."""
    warnings.warn(text, UserWarning, stacklevel=_users_level())


def _users_level() -> int:
    """How many calls above `warn` the user's is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("headrace."):
        level, frame = level + 1, frame.f_back
    return level
