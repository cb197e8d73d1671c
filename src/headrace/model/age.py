"""Ages as definitions and requests hold them, in microseconds."""

from __future__ import annotations

from headrace.errors import InvalidArgument
from headrace.model.duration import UNLIMITED, format_duration


def check_ages(where: str, most: str, max_age: int | None, min_age: int | None) -> None:
    """Check the age limits that `where` sets; `most` is what it calls the upper one.

    Raises:
        InvalidArgument: what is no age, or limits that no row can keep both.
    """
    for what, age, least in ((most, max_age, 1), ("min_age", min_age, 0)):
        unlimited = what == most and age == UNLIMITED
        if age is not None and not unlimited and not least <= age < 1 << 62:
            raise InvalidArgument(f"{where}: {what} of {age} microseconds is no age")
    if max_age not in (None, UNLIMITED) and min_age is not None and min_age > max_age:
        raise InvalidArgument(
            f"{where}: nothing is at least {format_duration(min_age)} and at most {format_duration(max_age)} old",
            hint=f"min_age must not be greater than {most}",
        )
