"""`headrace`, whose services keep results however fast they were computed: run as a program."""

from __future__ import annotations

import functools

from headrace.cli import main
from headrace.service import cache, store

if __name__ == "__main__":
    store.Cache = functools.partial(cache.Cache, least_seconds=0)  # type: ignore[misc]
    main()
