"""Files of HDFS, S3 and their kin, through what the Delta library brings along."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from deltalake._internal import DeltaFileSystemHandler
from pyarrow.fs import FileType

from headrace.errors import InvalidArgument
from headrace.storage.files import Fact
from headrace.storage.place import Place

_AT_ONCE = 16
_PIECE_BYTES = 8 << 20


class RemoteFiles:
    """Those of one bucket or cluster.

    Paths begin with the place's URI, as the Delta library has them.
    """

    is_local = False

    def __init__(self, place: Place) -> None:
        self.place = place
        # Not the class that wraps it for Arrow, whose files refuse the buffers that Arrow writes.
        self._handler = DeltaFileSystemHandler(f"{place.uri}/", dict(place.options))

    def fact(self, path: str) -> Fact | None:
        (info,) = self._handler.get_file_info([self._within(path)])
        if info.type != FileType.File:
            return None
        return Fact(info.size, (info.size, info.mtime_ns or 0))

    def names(self, folder: str) -> list[str]:
        found = self._handler.get_file_info_selector(self._within(folder), True, False)
        return [info.base_name for info in found]

    def read(self, path: str) -> bytes:
        content: bytes = self.raw(path).read()
        return content

    def open(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(self.raw(path), "r")

    def view(self, path: str) -> pa.NativeFile:
        return self.open(path)

    def raw(self, path: str) -> BinaryIO:
        """The file as the library gives it: for one thread at a time, which others need not wait for."""
        file: BinaryIO = self._handler.open_input_file(self._within(path))
        return file

    def lost(self, paths: Sequence[str]) -> str | None:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            found = zip(paths, threads.map(self.fact, paths), strict=True)
            return next((path for path, fact in found if fact is None), None)

    def put(self, source: Path, path: str) -> None:
        """Write a file of this machine to where none is."""
        sink = self._handler.open_output_stream(self._within(path))
        with source.open("rb", buffering=0) as file:
            while piece := file.read(_PIECE_BYTES):
                sink.write(piece)
        sink.close()

    def remove(self, folder: str) -> None:
        """Remove a folder and all that is in it; no error if it is not there."""
        try:
            self._handler.delete_dir(self._within(folder))
        except FileNotFoundError:
            return

    def _within(self, path: str) -> str:
        if not path.startswith(f"{self.place.uri}/"):
            raise InvalidArgument(f"{path} is outside {self.place.shown}, where the store is")
        return path.removeprefix(f"{self.place.uri}/")
