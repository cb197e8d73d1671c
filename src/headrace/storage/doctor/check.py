"""One thing that was looked at to find out what keeps Headrace from working."""

from __future__ import annotations

import dataclasses
from typing import Literal

from headrace.errors import HeadraceError

State = Literal["ok", "warn", "fail"]


@dataclasses.dataclass(frozen=True)
class Check:
    """What was looked at, what was found, and what to do about it."""

    name: str
    state: State
    found: str
    advice: str | None = None
    exit_code: int = 0


def failed(name: str, error: HeadraceError, advice: str | None = None) -> Check:
    """What an error says of it."""
    return Check(name, "fail", f"{error.code}: {error.message}", advice or error.hint, error.exit_code)
