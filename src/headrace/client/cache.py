"""The results that a service keeps."""

from __future__ import annotations

from headrace.backend import Backend
from headrace.model.kept_result import CacheStatistics, KeptResult


class Cache:
    """Results of joins, kept by a service that was started with `--cache`, to give them again.

    Raises:
        Unsupported: nothing is kept there, or the store is embedded. PermissionDenied: the caller is no admin of the
            project.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def list(self) -> list[KeptResult]:
        """Those of the project; the ones that save most for their size first."""
        return self._backend.list_results()

    def stats(self) -> CacheStatistics:
        """Of all projects of the store."""
        return self._backend.cache_statistics()

    def clear(self) -> int:
        """Let go of the results of the project; gives how many there were."""
        return self._backend.clear_results()
