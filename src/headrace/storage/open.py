"""The storage of a store, by what its configuration names."""

from __future__ import annotations

from pathlib import Path

from headrace.config import StoreConfig
from headrace.storage.base import Hold, Storage
from headrace.storage.local import LocalStorage
from headrace.storage.places import Places
from headrace.storage.remote import RemoteStorage


def open_storage(config: StoreConfig, hold: Hold) -> Storage:
    """Raises InvalidArgument, TLSError, MissingDependency, Unavailable, LimitExceeded, PermissionDenied.

    Args:
        hold: for tables in storages that have no locks.
    """
    places = Places(dict(config.storage_options), config.tls, config.hadoop_conf_dir)
    try:
        if config.is_local:
            return LocalStorage(Path(config.root), places, hold)
        return RemoteStorage(places, config.root, config.work, hold)
    except BaseException:
        places.close()
        raise
