"""The storage of a store, by what its configuration names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from headrace.config import StoreConfig
from headrace.errors import InvalidArgument
from headrace.storage import hadoop, object_store
from headrace.storage.base import Hold, Storage
from headrace.storage.local import LocalStorage
from headrace.storage.place import Place


def open_storage(config: StoreConfig, hold: Hold) -> Storage:
    """Raises InvalidArgument, TLSError, MissingDependency, Unavailable, LimitExceeded, PermissionDenied."""
    if config.is_local:
        return LocalStorage(Path(config.root), dict(config.storage_options))
    # What these need takes a while to load.
    from headrace.storage.remote import RemoteStorage

    place = _place(config)
    try:
        return RemoteStorage(place, urlsplit(config.root).path, config.work, hold)
    except BaseException:
        place.close()
        raise


def _place(config: StoreConfig) -> Place:
    scheme, options = urlsplit(config.root).scheme, dict(config.storage_options)
    if scheme in hadoop.SCHEMES:
        return hadoop.cluster(config.root, config.tls, options, config.hadoop_conf_dir)
    if config.tls is not None:
        raise InvalidArgument(f"tls is for hopsfs:// and services, and this store is at {scheme}://")
    return object_store.bucket(config.root, options)
