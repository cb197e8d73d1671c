"""What was costly to find out, kept while there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by key; where their sizes sum up to more than `room`, the least used go."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def drop(self, key: Hashable) -> None:
        with self._lock:
            _, size = self._values.pop(key, (None, 0))
            self._size -= size

    def put(self, key: Hashable, value: Value, size: int = 1) -> None:
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._size += size - before
            while self._size > self._room:
                _, (_, dropped) = self._values.popitem(last=False)
                self._size -= dropped
