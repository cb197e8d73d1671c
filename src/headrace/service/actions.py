"""What a service can be asked for by an action: the one table of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from headrace import protocol
from headrace.model.definition import ViewDefinition, read_schema
from headrace.model.request import ReadRequest
from headrace.model.right import Grant
from headrace.service.project import ProjectStore
from headrace.service.received import arrow, check_text


def _create_group(store: ProjectStore, body: protocol.GroupBody) -> protocol.GroupBody:
    with arrow("the schema"):
        given = body.group()
        check_text(given.schema)
    return _body(store.create_group(given.definition, given.schema))


def _register_group(store: ProjectStore, body: protocol.GroupBody) -> protocol.GroupBody:
    return _body(store.register_group(body.definition))


def _hello(store: ProjectStore, body: protocol.Hello) -> protocol.Hello:
    return protocol.Hello(protocol.PROTOCOL_VERSION, version("headrace"), body.project)


def _delete_rows(store: ProjectStore, body: protocol.DeleteRows) -> object:
    with arrow("the keys"):
        keys = None if body.keys_ipc is None else pa.ipc.open_stream(body.keys_ipc).read_all()
        if keys is not None:
            keys.validate(full=True)
            check_text(keys.schema)
    return store.delete_rows(body.ref, keys, body.condition, body.idempotency_key)


def _add_features(store: ProjectStore, body: protocol.AddFeatures) -> object:
    with arrow("the columns"):
        wanted = read_schema(body.schema_ipc)
        check_text(wanted)
    return store.add_features(body.ref, wanted, body.idempotency_key)


_body = protocol.GroupBody.of

WORK = ("delete_rows", "add_features", "restore", "compact", "vacuum")
"""Actions that wait for a turn."""

ACTIONS: dict[str, tuple[type, Callable[[ProjectStore, Any], object]]] = {
    "hello": (protocol.Hello, _hello),
    "create_group": (protocol.GroupBody, _create_group),
    "register_group": (protocol.GroupBody, _register_group),
    "get_group": (protocol.Named, lambda s, b: _body(s.get_group(b.name, b.version))),
    "list_groups": (
        protocol.Listing,
        lambda s, b: [_body(g) for g in s.list_groups(b.name, b.tags, b.search)],
    ),
    "delete_group": (protocol.Named, lambda s, b: s.delete_group(b.name, b.version, b.force)),
    "set_group_tags": (protocol.SetTags, lambda s, b: _body(s.set_group_tags(b.name, b.version, b.tags))),
    "create_view": (ViewDefinition, lambda s, b: s.create_view(b)),
    "get_view": (protocol.Named, lambda s, b: s.get_view(b.name, b.version)),
    "list_views": (protocol.Listing, lambda s, b: s.list_views(b.name, b.tags, b.search)),
    "delete_view": (protocol.Named, lambda s, b: s.delete_view(b.name, b.version, b.force)),
    "get_dataset": (protocol.Named, lambda s, b: s.get_dataset(b.name, b.version)),
    "list_datasets": (protocol.Named, lambda s, b: s.list_datasets(b.name)),
    "delete_dataset": (protocol.Named, lambda s, b: s.delete_dataset(b.name, b.version)),
    "delete_rows": (protocol.DeleteRows, _delete_rows),
    "add_features": (protocol.AddFeatures, _add_features),
    "restore": (protocol.Restore, lambda s, b: s.restore(b.ref, b.snapshot, b.idempotency_key)),
    "compact": (protocol.Compact, lambda s, b: s.compact(b.ref, b.zorder)),
    "vacuum": (protocol.Vacuum, lambda s, b: s.vacuum(b.ref, b.retention_hours, b.dry_run)),
    "detail": (protocol.Detail, lambda s, b: s.detail(b.ref)),
    "history": (protocol.History, lambda s, b: s.history(b.ref, b.limit)),
    "outcome": (protocol.Outcome, lambda s, b: s.outcome(b.ref, b.idempotency_key, b.call)),
    "explain": (ReadRequest, lambda s, b: s.explain(b)),
    "list_grants": (protocol.Nothing, lambda s, b: s.list_grants()),
    "add_grant": (Grant, lambda s, b: s.add_grant(b)),
    "remove_grant": (protocol.RemoveGrant, lambda s, b: s.remove_grant(b.user, b.group)),
    "create_token": (
        protocol.CreateToken,
        lambda s, b: s.create_token(b.user, b.lifetime_us, b.description),
    ),
    "list_tokens": (protocol.Nothing, lambda s, b: s.list_tokens()),
    "revoke_token": (protocol.RevokeToken, lambda s, b: s.revoke_token(b.id)),
    "list_queries": (protocol.Nothing, lambda s, b: s.list_queries()),
    "list_results": (protocol.Nothing, lambda s, b: s.list_results()),
    "cache_statistics": (protocol.Nothing, lambda s, b: s.cache_statistics()),
    "clear_results": (protocol.Nothing, lambda s, b: s.clear_results()),
    "health": (protocol.Nothing, lambda s, b: s.health()),
    "cancel_query": (protocol.CancelQuery, lambda s, b: s.cancel_query(b.id)),
}
