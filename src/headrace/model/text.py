"""Text that can be stored and sent."""

from __future__ import annotations

from headrace.errors import InvalidArgument


def check_text(what: str, value: object) -> str:
    """Return `value` if it is text without lone surrogates, which no encoding has. Raises InvalidArgument."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} must be text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what} {value!r} holds a lone surrogate, which no stored text does") from None
    return value
