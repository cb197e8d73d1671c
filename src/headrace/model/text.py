"""Texts that users give: names of columns, descriptions, tags, keys of writes."""

from __future__ import annotations

from headrace.errors import InvalidArgument


def check_text(what: str, value: object, hint: str | None = None) -> str:
    """Return `value` if it is text that can be sent and stored.

    Raises:
        InvalidArgument: no text, or half of a surrogate pair in it, which no encoding has.
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{what}={value!r} is no text", hint=hint)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what}={value!r} holds half of a surrogate pair") from None
    return value
