"""The key that names a write, so that its outcome can be asked for and running it again changes nothing."""

from __future__ import annotations

import re
import uuid

import pyarrow as pa

from headrace.errors import InvalidArgument
from headrace.model.text import check_text

PASSING = "once/"
"""Begins keys of writes that nobody means to run again: the log of a table may forget them after some days."""

_PASSING_KEY = re.compile(rf"{PASSING}[0-9a-f]{{32}}")


def check_write_key(given: str) -> str:
    """A key that a user gives. One that was made here is taken, too: it is told where a write may be tried again.

    Raises:
        InvalidArgument: no text, or what would be taken for a key that was made here, and forgotten.
    """
    key = check_text("idempotency_key", given)
    if key.startswith(PASSING) and not _PASSING_KEY.fullmatch(key):
        raise InvalidArgument(
            f"idempotency_key {key!r} begins with {PASSING!r}, as keys do that are forgotten"
        )
    return key


def passing_key() -> str:
    """A new key, for a write that was given none."""
    return f"{PASSING}{uuid.uuid4().hex}"


def inserting(mode: str, filtered: bool) -> str:
    """What a key stands for that was given to `insert`; likewise the others. It can stand for nothing else."""
    return f"insert, mode {mode}{', with a filter' if filtered else ''}"


def deleting(by_keys: bool) -> str:
    return f"delete by {'keys' if by_keys else 'a filter'}"


def adding(features: pa.Schema) -> str:
    return f"add_features {', '.join(f'{field.name} {field.type}' for field in features)}"


def restoring(snapshot: int) -> str:
    return f"restore to snapshot {snapshot}"
