"""What a service does now."""

from __future__ import annotations

from headrace.backend import Backend
from headrace.model.text import check_text
from headrace.protocol import QueryInfo


class Queries:
    """The queries under way in one project of a service; of an embedded store there are none to see."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def list(self) -> list[QueryInfo]:
        """Those that wait for their turn, run, or pause while nobody takes their rows; the oldest first.

        Whoever is no admin sees their own.
        """
        return self._backend.list_queries()

    def cancel(self, query_id: str) -> None:
        """Stop one. Its caller gets `Cancelled`, and nothing is written.

        Raises:
            NotFound: it has ended, or is another's.
        """
        self._backend.cancel_query(check_text("query_id", query_id))
