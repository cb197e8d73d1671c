"""What the pages of a service say, and to whom."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from headrace.errors import HeadraceError, PermissionDenied
from headrace.service.door import Door
from headrace.service.health import Health
from headrace.service.http import Answer, Page, status_page
from headrace.service.metrics import CONTENT_TYPE, Metrics
from headrace.service.store import Store


def pages(store: Store, door: Door, health: Health, metrics: Metrics) -> Mapping[str, Page]:
    """`/live` and `/ready` tell everybody whether, and admins why not. `/metrics` is for admins, and for programs of
    this machine where callers can show no certificate.
    """

    def live(peer: bytes | None) -> Answer:
        return status_page(HTTPStatus.OK)

    def ready(peer: bytes | None) -> Answer:
        problems = health.problems()
        status = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
        return status_page(status, problems if problems and sees_why(peer) else None)

    def measured(peer: bytes | None) -> Answer:
        if peer is not None and not is_admin(peer):
            raise PermissionDenied("metrics are for who is an admin of some project")
        return Answer(HTTPStatus.OK, metrics.text(), CONTENT_TYPE)

    def sees_why(peer: bytes | None) -> bool:
        try:
            return door.is_open or (peer is not None and is_admin(peer))
        except HeadraceError:  # nobody, or the registry does not tell
            return False

    def is_admin(peer: bytes) -> bool:
        user = door.user(peer)
        return user is None or store.registry.is_admin(user)

    return {"/live": live, "/ready": ready, "/metrics": measured}
