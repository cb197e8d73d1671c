"""How often what happens by chance is tried: in full by `make soak`, a third as often by `make test-all`."""

from __future__ import annotations

import os

SOAK = "HEADRACE_SOAK" in os.environ
"""Whether nothing is left out."""


def tries(number: int, least: int = 1) -> int:
    """How many of `number` times, or of as many seconds; `least` at least."""
    return number if SOAK else max(number // 3, least)
