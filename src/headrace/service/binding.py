"""A store's root and its registry, which know each other: what one says of the other's tables may be believed."""

from __future__ import annotations

import uuid

from headrace.config import REGISTRY_VARIABLE, StoreConfig
from headrace.errors import HeadraceError, InvalidArgument, Unavailable
from headrace.registry.database import read_url
from headrace.registry.failure import address
from headrace.registry.hold import RegistryHold
from headrace.registry.registry import KnownStore, Registry
from headrace.storage.base import Storage
from headrace.storage.mark import MARKS, Mark, Marks


def open_registry(config: StoreConfig, storage: Storage) -> Registry:
    """The registry of a store. One that is empty is made ready, for a root that has no other.

    Raises:
        InvalidArgument: it is the registry of another store, or the root's is another.
        Unavailable: it is lost. What `Registry.open` and `Storage` raise.
    """
    marked = storage.marks.stores()
    registry = Registry.find(config.registry) if marked else Registry.open(config.registry)
    if registry is None:
        raise _strangers(config, storage.marks.read(marked[0]))
    try:
        known = registry.store()
        if known is None or marked != [known.id]:
            # One at a time. Whatever ends between the two, the next one goes on.
            with RegistryHold(config.registry)([MARKS], alone=True):
                _introduce(config, storage.marks, registry)
    except BaseException:
        registry.close()
        raise
    return registry


def _introduce(config: StoreConfig, marks: Marks, registry: Registry) -> None:
    marked, known = marks.stores(), registry.store()
    if not marked:
        known = _claim(config, marks, registry, known)
        marked = marks.stores()
        if marked != [known.id]:
            marks.remove(known.id)
    for store in marked:
        if known is None or store != known.id:
            raise _strangers(config, marks.read(store))


def _claim(config: StoreConfig, marks: Marks, registry: Registry, known: KnownStore | None) -> KnownStore:
    if known is None:
        known = KnownStore(uuid.uuid4().hex, config.root)
        registry.set_store(known)
    elif known.root != config.root:
        raise InvalidArgument(
            f"the registry at {registry.address} is that of the store at {known.root}, not at {config.root}",
            hint=f"give each store a registry of its own; when you move one, take its {MARKS} along. "
            "If the first was mistyped, and nothing is in it, delete this registry and all of that store",
        )
    marks.add(Mark(known.id, _mentioned(config)))
    return known


def _strangers(config: StoreConfig, mark: Mark) -> HeadraceError:
    given = address(read_url(config.registry))
    if mark.registry == _mentioned(config):
        return Unavailable(
            f"the registry of {config.root} is lost: there is none at {given}, or that of another store",
            hint="bring it back from a copy; without one, register its tables in a new store elsewhere",
        )
    return InvalidArgument(
        f"the store at {config.root} has its registry {f'at {mark.registry}' if mark.registry else 'in its folder'},"
        f" and {given} is another",
        hint=f"name it: registry= in Python, --registry, or {REGISTRY_VARIABLE}"
        if mark.registry
        else "name no registry",
    )


def _mentioned(config: StoreConfig) -> str | None:
    """The registry, as the mark has it: of one in the store's folder nothing, since that may be moved."""
    return None if config.has_own_registry else address(read_url(config.registry))
