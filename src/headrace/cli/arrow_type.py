"""Types of columns in texts, as Arrow spells them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

import pyarrow as pa

from headrace.errors import InvalidArgument

_TIME = re.compile(r"timestamp(?:\[(s|ms|us|ns)(?:, *tz=([^\]]+))?\])?")
_DECIMAL = re.compile(r"decimal(?:128)?\(([0-9]+)(?:, *([0-9]+))?\)")
_KNOWN = (
    "known are bool, int8 to int64, float32 (float), float64 (double), string, binary, date32, timestamp and "
    "decimal128(10, 2); lists, structs and maps are added from Python"
)


def features_in(given: Sequence[str]) -> dict[str, pa.DataType]:
    """Types by column, one in each text. Raises InvalidArgument."""
    found: dict[str, pa.DataType] = {}
    for text in given:
        name, separator, kind = text.partition("=")
        if not separator:
            raise InvalidArgument(f"feature {text!r} is refused", hint="write column=type")
        if name in found:
            raise InvalidArgument(f"feature {name!r} is given twice")
        found[name] = _type(name, kind.strip())
    return found


def _type(name: str, text: str) -> pa.DataType:
    with contextlib.suppress(ValueError):  # also of a decimal with too many digits
        if time := _TIME.fullmatch(text):
            unit, zone = time.groups()
            return pa.timestamp(unit, zone) if unit else pa.timestamp("us", "UTC")
        if decimal := _DECIMAL.fullmatch(text):
            return pa.decimal128(int(decimal[1]), int(decimal[2] or 0))
        return pa.type_for_alias(text)
    raise InvalidArgument(f"feature {name!r}: {text!r} is no type that is known", hint=_KNOWN)
