"""Structs that several threads decode."""

from __future__ import annotations

from typing import Any

import msgspec


def know(*kinds: Any) -> None:
    """Have msgspec look at structs, and at those in them, while one thread imports their module.

    It keeps with the class what it finds there, and of threads that decode one for the first time at once, one takes
    half of that for the whole, which ends the process (msgspec 0.22).
    """
    for kind in kinds:
        msgspec.json.Decoder(kind)
