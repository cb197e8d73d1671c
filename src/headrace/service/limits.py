"""What one query of a service may take."""

from __future__ import annotations

import dataclasses
import os
import re

from headrace.errors import InvalidArgument

_FORMS = {"B": 1000, "iB": 1024}
_UNITS = {"": 1, "B": 1} | {
    f"{letter}{form}": base**power for power, letter in enumerate("KMGT", 1) for form, base in _FORMS.items()
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]*)")
_SHARE = 0.8


@dataclasses.dataclass(frozen=True)
class Limits:
    """None is unlimited.

    Args:
        memory: bytes.
        disk: bytes of what does not fit into memory.
        seconds: from the turn to the last row.
        rows: of the answer.
    """

    memory: int | None = None
    disk: int | None = None
    seconds: float | None = None
    rows: int | None = None


UNLIMITED = Limits()


def parse_size(text: str) -> int:
    """Bytes: `"4GB"`, `"512MiB"`. Raises InvalidArgument."""
    found = _SIZE.fullmatch(text.strip())
    unit = found and next((size for name, size in _UNITS.items() if name.lower() == found[2].lower()), None)
    if found is None or unit is None or not float(found[1]):
        raise InvalidArgument(f"{text!r} is no size", hint='write "4GB" or "512MiB"')
    return int(float(found[1]) * unit)


def memory_of_machine() -> int:
    """Bytes that may be taken of it where nobody says how many."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE)
