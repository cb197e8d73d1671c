"""How often what happens by chance is tried: in full by `make soak`, a third as often by `make test-all`."""

from __future__ import annotations

import os

SOAK = "HEADRACE_SOAK" in os.environ
"""Whether nothing is left out."""


def tries(number: int, least: int = 1) -> int:
    """Of `number`, or of as many seconds."""
    return number if SOAK else max(number // 3, least)
