"""Options that several commands have, and what their texts say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from headrace.errors import InvalidArgument

Start = Annotated[str | None, typer.Option(help="From this event time on, such as 2013-01-31T06:00Z.")]
End = Annotated[str | None, typer.Option(help="Before this event time.")]
Limit = Annotated[int | None, typer.Option(help="At most so many rows.", min=0)]
Output = Annotated[
    str | None, typer.Option(help="A .parquet, .csv or .arrow file; - is an Arrow stream on stdout.")
]
Description = Annotated[str, typer.Option(help="For people.")]
Search = Annotated[
    str | None,
    typer.Option(help="Words that stand in name, description or tags; of a group, in its columns, too."),
]
Tags = Annotated[list[str] | None, typer.Option(help="key=value; may be given again.")]


def columns_in(given: Sequence[str]) -> list[str]:
    """The names in texts, with commas between."""
    return [column.strip() for text in given for column in text.split(",")]


def tags_in(given: Sequence[str]) -> dict[str, str]:
    """Tags, one in each text. Raises InvalidArgument."""
    return dict(map(_tag, given))


def tags_text(tags: Mapping[str, str]) -> str:
    """Tags for people."""
    return ", ".join(f"{key}={value}" for key, value in tags.items())


def splits_in(given: Sequence[str]) -> dict[str, Any] | None:
    """The splits of a training dataset, one in each text; None if there is none. Raises InvalidArgument."""
    found: dict[str, Any] = {}
    for text in given:
        name, _, part = text.partition("=")
        if name in found:
            raise InvalidArgument(f"split {name!r} is given twice")
        found[name] = _part(text, part)
    return found or None


def _tag(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise InvalidArgument(f"tag {text!r} is refused", hint="write --tag key=value")
    return key, value


def _part(text: str, part: str) -> float | tuple[str | None, str | None]:
    start, dots, end = part.partition("..")
    if dots:
        return start or None, end or None
    try:
        return float(part)
    except ValueError:
        raise InvalidArgument(
            f"split {text!r} is refused",
            hint="write --split train=0.8, or --split train=2013-01-01..2013-10-01",
        ) from None
