"""The buckets and clusters that one store reaches."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from headrace.errors import InvalidArgument
from headrace.storage import hadoop, object_store
from headrace.storage.folder import Folder
from headrace.storage.place import Place
from headrace.storage.remote_files import RemoteFiles
from headrace.tls import TLS


class Places:
    """By URIs, opened when they are first asked for.

    Args:
        options: what all of them are told, by their own keys.
        tls: certificates for HopsFS.
        hadoop_conf_dir: the folder of Hadoop's configuration.
    """

    def __init__(self, options: Mapping[str, str], tls: TLS | None, hadoop_conf_dir: Path | None) -> None:
        self._options = dict(options)
        self._tls = tls
        self._hadoop_conf_dir = hadoop_conf_dir
        self._files: dict[str, RemoteFiles] = {}
        self._lock = threading.Lock()

    def folder(self, uri: str) -> Folder:
        """Raises InvalidArgument, TLSError, MissingDependency."""
        parts = urlsplit(uri)
        files = self._opened(f"{parts.scheme}://{parts.netloc}")
        place, path = files.place, parts.path.strip("/")
        return Folder(f"{place.uri}/{path}", f"{place.shown}/{path}", files, place.options)

    def files(self, path: str) -> RemoteFiles:
        """Those among which a file is, by its path for the Delta library. Raises InvalidArgument."""
        for files in list(self._files.values()):  # to which other threads add
            if path.startswith(f"{files.place.uri}/"):
                return files
        raise InvalidArgument(
            f"{path} is in no bucket or cluster of the store's tables: a log names files of another one"
        )

    def close(self) -> None:
        with self._lock:
            for files in self._files.values():
                files.close()
            self._files.clear()

    def _opened(self, root: str) -> RemoteFiles:
        with self._lock:
            found = self._files.get(root)
            if found is None:
                place = self._place(root)
                try:
                    found = self._files[root] = RemoteFiles(place)
                except BaseException:
                    place.close()
                    raise
            return found

    def _place(self, root: str) -> Place:
        if urlsplit(root).scheme not in hadoop.SCHEMES:
            return object_store.bucket(root, self._options)
        place = hadoop.cluster(root, self._tls, self._options, self._hadoop_conf_dir)
        same = [files.place.shown for files in self._files.values() if files.place.uri == place.uri]
        if same:
            place.close()
            raise InvalidArgument(
                f"a store cannot reach {root} beside {same[0]}: the Delta library takes them for one",
                hint="register its tables in a store of their own",
            )
        return place
