"""Rows other than those of a table of simple columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

Shape = Callable[[int], Any]
"""The row of a number."""

_LETTERS = "äöüßéñçøåćđŧλμπσωжщюя中文字漢語日本語한국어😀🎉🚀"


def wide(number: int) -> tuple[Any, ...]:
    return tuple(value for column in range(50) for value in _four(number + 1_000 * column))


def _four(seed: int) -> tuple[int, float, str, bool]:
    return (seed, seed * 0.5, f"value {seed % 977}", seed % 7 == 0)


def nested(number: int) -> tuple[Any, ...]:
    day = dt.date(2020, 1, 1) + dt.timedelta(days=number % 1000)
    return (
        number,
        [number * 0.25, 1.5, -2.0],
        {"name": f"name {number % 311}", "size": number % 40, "at": day},
        [(f"tag {tag}", tag * number) for tag in range(number % 4)],
    )


def unicode(number: int) -> tuple[Any, ...]:
    def text(seed: int) -> str:
        return "".join(_LETTERS[(seed * step + step) % len(_LETTERS)] for step in range(1, 20))

    return (text(number), text(number * 31 + 7), f"{number} {text(number % 500)}")


def nulls(number: int) -> tuple[Any, ...]:
    # One that stands again and again is told once by pickle.
    return tuple([None] * 9)


def part(number: int) -> tuple[Any, ...]:
    return (
        number,
        f"name {number}",
        "Manufacturer#1",
        "Brand#13",
        "PROMO",
        7,
        "JUMBO PKG",
        901.5,
        "ly. slyly ironi",
    )


SHAPES: dict[str, tuple[str, Shape, float]] = {
    "wide": ("rows of 200 columns", wide, 20_000),
    "nested": ("rows with lists, a dict, a date and tuples in them", nested, 100_000),
    "unicode": ("rows of texts none of which is ASCII", unicode, 100_000),
    "nulls": ("rows of nine times None", nulls, 200_000),
    "row": ("one row at a time, a stream each", part, 20_000),
}
"""By name: what they are, how each is made, and how many are measured."""
