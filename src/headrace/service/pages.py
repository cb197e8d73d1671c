"""What the pages of a service say, and to whom."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from headrace.errors import HeadraceError, PermissionDenied
from headrace.service.door import Door
from headrace.service.health import Health
from headrace.service.http import Answer, Caller, Page, status_page
from headrace.service.metrics import CONTENT_TYPE, Metrics
from headrace.service.store import Store


def pages(store: Store, door: Door, health: Health, metrics: Metrics) -> Mapping[str, Page]:
    """`/live` and `/ready` tell everybody whether, and admins why not. `/metrics` is for admins, and for programs of
    this machine in the clear.
    """

    def live(caller: Caller | None) -> Answer:
        return status_page(HTTPStatus.OK)

    def ready(caller: Caller | None) -> Answer:
        problems = health.problems()
        status = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
        return status_page(status, problems if problems and sees_why(caller) else None)

    def measured(caller: Caller | None) -> Answer:
        if caller is not None and not is_admin(caller):
            raise PermissionDenied("metrics are for who is an admin of some project")
        return Answer(HTTPStatus.OK, metrics.text(), CONTENT_TYPE)

    def sees_why(caller: Caller | None) -> bool:
        try:
            return door.is_open or (caller is not None and is_admin(caller))
        except HeadraceError:  # nobody, or the registry does not tell
            return False

    def is_admin(caller: Caller) -> bool:
        user = door.user(*caller)
        return user is None or store.registry.is_admin(user)

    return {"/live": live, "/ready": ready, "/metrics": measured}
