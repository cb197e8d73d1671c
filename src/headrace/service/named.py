"""Of which feature groups, views and users a message speaks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace import protocol
from headrace.errors import HeadraceError
from headrace.model.definition import ViewDefinition
from headrace.model.query import ENTITIES, groups_of
from headrace.model.request import ReadRequest
from headrace.model.right import Grant
from headrace.service.record import Names, shown

_MOST = 32
_OF_VIEWS = frozenset({"get_view", "delete_view", "get_dataset", "list_datasets", "delete_dataset"})


def names_in(action: str, body: Any) -> Names:
    """The names in what an action, or a descriptor, carries. None of them was looked up."""
    match body:
        case protocol.Named():
            names = [_versioned(body.name, body.version)]
            return _names(views=names) if action in _OF_VIEWS else _names(names)
        case protocol.GroupBody():
            return _names([body.definition.name])
        case protocol.SetTags():
            return _names([_versioned(body.name, body.version)])
        case ViewDefinition():
            return _names(groups_of(body.query), [body.name])
        case Grant() | protocol.RemoveGrant():
            return _names([body.group] if body.group else [], users=[body.user])
        case protocol.CreateToken():
            return _names(users=[body.user] if body.user else [])
        case protocol.DatasetCommand():
            return _names(views=[body.asked.name])
        case protocol.ReadCommand():
            return _of_request(body.prepared.request)
        case ReadRequest():
            return _of_request(body)
    if action == "ingest":
        return _names([f"{body.schema}.{body.table}" if body.schema else body.table])
    ref = getattr(body, "ref", None)
    return _names([ref]) if isinstance(ref, str) else Names()


def names_refused(error: HeadraceError) -> Names:
    """Of the tables of a query that was refused, which may be groups or views."""
    tables = error.details.get("tables")
    return _names(map(str, tables)) if isinstance(tables, list) else Names()


def _of_request(request: ReadRequest) -> Names:
    """By what is run, which is not always what the caller says of it: a pinned read names its groups in its query."""
    groups = [] if request.query is None else groups_of(request.query)
    views = [ref for ref in (request.view, request.stored and request.stored.view) if ref]
    for label, pinned in request.tables.items():
        # A table of another project stands there by its name, in which no other dot is before the first space.
        project, dot, _ = label.partition(" ")[0].rpartition(".")
        groups += [f"{project}{dot}{ref}" for ref in (groups_of(pinned.query) if pinned.query else ())]
        views += [f"{project}{dot}{pinned.view}"] if pinned.view else []
    return _names(dict.fromkeys(groups), dict.fromkeys(views))


def _names(groups: Iterable[str] = (), views: Iterable[str] = (), users: Iterable[str] = ()) -> Names:
    return Names(_shown(groups), _shown(views), _shown(users))


def _shown(names: Iterable[str]) -> tuple[str, ...]:
    found = [shown(name) for name in names if name != ENTITIES]
    return (*found[:_MOST], *(["…"] if len(found) > _MOST else []))


def _versioned(name: str, version: int | None) -> str:
    return name if version is None else f"{name}@v{version}"
