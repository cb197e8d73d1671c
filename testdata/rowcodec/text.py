"""Values of Python as JSON that tells their types, and back.

null, booleans and texts are JSON's own. Everything else is an object with one key, its type:

    {"int": "12"}  {"float": "0x1.8p+1"}  {"bytes": "00ff"}  {"bytearray": "00ff"}  {"str": [55296]} (code points)
    {"date": "2020-01-31"}  {"datetime": ["2020-01-31T01:02:03.000004", fold, zone]}  {"timedelta": [days, s, us]}
    {"decimal": "1.00"}  {"uuid": "…"}  {"numpy": ["<i4", "0c000000"]}
    {"list": […]}  {"tuple": […]}  {"dict": [[key, value], …]}  {"record": [kind, class, [[name, value], …]]}

A file holds a list of [number, row]: so many rows that are the same follow one another.

A zone is null, {"zoneinfo": key}, or {"timezone": seconds} with a second element where it has a name.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import importlib
import itertools
import json
import uuid
import zoneinfo
from typing import Any

import numpy as np


def write_rows(rows: list[Any]) -> str:
    runs = itertools.groupby(json.dumps(to_text(row)) for row in rows)
    lines = (f"[{len(list(run))}, {text}]" for text, run in runs)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read_rows(text: str) -> list[Any]:
    return [of_text(row) for number, row in json.loads(text) for _ in range(number)]


def to_text(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return {"str": [ord(character) for character in value]}
            return value
        case np.generic():
            return {"numpy": [value.dtype.str, value.tobytes().hex()]}
        case int():
            return {"int": str(value)}
        case float():
            return {"float": value.hex()}
        case bytes() | bytearray():
            return {type(value).__name__: value.hex()}
        case dt.datetime():
            zone = _zone(value.tzinfo)
            return {"datetime": [value.replace(tzinfo=None).isoformat(), value.fold, zone]}
        case dt.date():
            return {"date": value.isoformat()}
        case dt.timedelta():
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
        case decimal.Decimal():
            return {"decimal": str(value)}
        case uuid.UUID():
            return {"uuid": str(value)}
        case tuple() if hasattr(value, "_fields"):
            return _record("namedtuple", value, zip(value._fields, value, strict=True))
        case list() | tuple():
            return {type(value).__name__: [to_text(item) for item in value]}
        case dict():
            return {"dict": [[to_text(key), to_text(item)] for key, item in value.items()]}
    if dataclasses.is_dataclass(value):
        return _record("dataclass", value, vars(value).items())
    raise TypeError(f"no text for {value!r}")


def _record(kind: str, value: Any, fields: Any) -> Any:
    path = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"record": [kind, path, [[name, to_text(item)] for name, item in fields]]}


def _zone(zone: dt.tzinfo | None) -> Any:
    if isinstance(zone, zoneinfo.ZoneInfo):
        return {"zoneinfo": zone.key}
    if isinstance(zone, dt.timezone):
        offset, *name = zone.__getinitargs__()  # type: ignore[attr-defined]
        return {"timezone": [offset // dt.timedelta(seconds=1), *name]}
    return None


def of_text(text: Any) -> Any:
    if not isinstance(text, dict):
        return text
    ((kind, value),) = text.items()
    match kind:
        case "str":
            return "".join(map(chr, value))
        case "int":
            return int(value)
        case "float":
            return float.fromhex(value)
        case "bytes":
            return bytes.fromhex(value)
        case "bytearray":
            return bytearray.fromhex(value)
        case "date":
            return dt.date.fromisoformat(value)
        case "datetime":
            return dt.datetime.fromisoformat(value[0]).replace(fold=value[1], tzinfo=_of_zone(value[2]))
        case "timedelta":
            return dt.timedelta(*value)
        case "decimal":
            return decimal.Decimal(value)
        case "uuid":
            return uuid.UUID(value)
        case "numpy":
            return np.frombuffer(bytes.fromhex(value[1]), value[0])[0]
        case "list":
            return [of_text(item) for item in value]
        case "tuple":
            return tuple(of_text(item) for item in value)
        case "dict":
            return {of_text(key): of_text(item) for key, item in value}
        case "record":
            module, _, name = value[1].partition(":")
            made = getattr(importlib.import_module(module), name)
            return made(**{name: of_text(item) for name, item in value[2]})
    raise ValueError(f"no value for {kind!r}")


def _of_zone(zone: Any) -> dt.tzinfo | None:
    match zone:
        case {"zoneinfo": key}:
            return zoneinfo.ZoneInfo(key)
        case {"timezone": [seconds, *name]}:
            return dt.timezone(dt.timedelta(seconds=seconds), *name)
    return None
