"""Classes that rows are made of, and what it means that rows are the same."""

from __future__ import annotations

import abc
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import struct
import uuid
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np


class Point(NamedTuple):
    x: Any
    y: Any


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Part:
    key: Any
    name: Any

    @classmethod
    def of(cls, values: Any) -> Part:
        return cls(values, list(values))


@dataclasses.dataclass(frozen=True)
class Frozen:
    key: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    key: Any


class Named(abc.ABC):  # noqa: B024
    """Only so that a class has a base."""


@dataclasses.dataclass
class Base(Named):
    id: int


T = TypeVar("T")


@dataclasses.dataclass
class Derived(Base, Generic[T]):
    value: T

    def twice(self) -> tuple[T, T]:
        return (self.value, self.value)


@dataclasses.dataclass
class Failure(Exception):
    """Exceptions pickle in a way of their own."""

    code: int


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Whole(int):
    pass


class Text(str):
    __slots__ = ()


class Row3(tuple):
    __slots__ = ()


class Labelled(dict):
    pass


def same(a: Any, b: Any) -> bool:
    """Whether values are equal, of the same types, and alike in what `==` does not look at."""
    if type(a) is not type(b):
        return False
    match a:
        case float() | np.floating():
            return bytes(_bits(a)) == bytes(_bits(b)) or (a != a and b != b and isinstance(a, np.floating))
        case decimal.Decimal():
            return a.as_tuple() == b.as_tuple()
        case dt.datetime():
            fields = a.replace(tzinfo=None) == b.replace(tzinfo=None) and a.fold == b.fold
            return fields and _zone(a.tzinfo) == _zone(b.tzinfo)
        case uuid.UUID():
            return a == b and a.is_safe == b.is_safe
        case list() | tuple():
            names = getattr(a, "__fields__", None) == getattr(b, "__fields__", None)
            return names and len(a) == len(b) and all(map(same, a, b))
        case dict():
            return len(a) == len(b) and all(map(same, a.items(), b.items()))
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)


def _bits(value: Any) -> bytes:
    return value.tobytes() if isinstance(value, np.generic) else struct.pack("<d", value)


def _zone(zone: dt.tzinfo | None) -> Any:
    if zone is None:
        return None
    return type(zone), getattr(zone, "key", None), zone.__reduce__()
