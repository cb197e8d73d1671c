"""A service that keeps whatever it may, however fast it was computed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from headrace.config import store_config
from headrace.wiring import Service


@contextlib.contextmanager
def keeping_service(root: Path) -> Iterator[Service]:
    service = Service(store_config(str(root)), ["grpc://127.0.0.1:0"], cache_bytes=100_000_000)
    assert service._store.cache is not None
    service._store.cache.least_seconds = 0
    yield service
    service.stop()
