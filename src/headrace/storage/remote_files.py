"""Files of HDFS, S3 and their kin, through what the Delta library brings along."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from deltalake._internal import DeltaFileSystemHandler
from pyarrow.fs import FileInfo, FileType

from headrace.errors import HeadraceError, InvalidArgument, Unavailable
from headrace.storage.failure import plain, refusal, told
from headrace.storage.files import Fact, Listed
from headrace.storage.place import Place
from headrace.storage.remote_file import RemoteCursor, RemoteFile

_AT_ONCE = 16
_PIECE_BYTES = 8 << 20
_LATELY_S = 0.1


class RemoteFiles:
    """Those of one bucket or cluster.

    Paths begin with the place's URI, as the Delta library has them.
    """

    is_local = False

    def __init__(self, place: Place) -> None:
        self.place = place
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="headrace-files")
        # Not the class that wraps it for Arrow, whose files refuse the buffers that Arrow writes.
        try:
            self._handler = DeltaFileSystemHandler(f"{place.uri}/", dict(place.options))
        except Exception as error:
            raise InvalidArgument(
                f"{place.shown} cannot be used as it is told: {plain(error)}", hint=place.hint
            ) from error
        self._answered = -_LATELY_S

    def fact(self, path: str) -> Fact | None:
        with self._reached():
            info = self._info(self._within(path))
        if info.type != FileType.File:
            return None
        return Fact(info.size, (info.size, info.mtime_ns or 0))

    def names(self, folder: str) -> list[str]:
        within = self._within(folder)
        with self._reached():
            found = self._answering(within).get_file_info_selector(within, True, False)
        return [info.base_name for info in found]

    def tree(self, folder: str, without: str) -> Iterator[Listed]:
        within = self._within(folder)
        with self._reached():
            found = self._answering(within).get_file_info_selector(within, True, True)
        for info in found:
            path = info.path.removeprefix(f"{within}/")
            if info.type == FileType.File and not path.startswith(f"{without}/"):
                yield Listed(path, info.size, info.mtime_ns or 0)

    def read(self, path: str) -> bytes:
        file = self.file(path)
        return file.read_at(0, file.size)

    def open(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(RemoteCursor(self.file(path)), "r")

    def view(self, path: str) -> pa.NativeFile:
        return self.open(path)

    def file(self, path: str) -> RemoteFile:
        within = self._within(path)
        return RemoteFile(
            f"{self.place.shown}/{within}",
            lambda: self._answering(within).open_input_file(within),
            self._reached,
            self.trouble,
            self._threads,
        )

    def facts(self, paths: Sequence[str]) -> Iterator[Fact | None]:
        return self._threads.map(self.fact, paths)

    def trouble(self) -> HeadraceError | None:
        return self.place.trouble()

    def put(self, source: Path, path: str) -> None:
        """Write a file of this machine to where none is."""
        within = self._within(path)
        with source.open("rb", buffering=0) as file:
            try:
                with self._reached():
                    sink = self._answering(within).open_output_stream(within)
                    while piece := file.read(_PIECE_BYTES):
                        sink.write(piece)
                    sink.close()
            except FileNotFoundError as error:  # the bucket
                raise refusal(self.place.shown, error) or error from error

    def remove_file(self, path: str) -> None:
        within = self._within(path)
        with self._reached():
            self._answering(within).delete_file(within)

    def remove(self, folder: str) -> None:
        """Remove a folder and all that is in it; no error if it is not there."""
        within = self._within(folder)
        with contextlib.suppress(FileNotFoundError), self._reached():
            found = self._answering(within).get_file_info_selector(within, True, True)
            # One by one, for between them other threads go on: they would not while the library removes all.
            for info in found:
                if info.type == FileType.File:
                    with contextlib.suppress(FileNotFoundError):
                        self._answering(within).delete_file(info.path)
            if self.place.has_folders:
                inside = [info.path for info in found if info.type == FileType.Directory]
                # Inner ones first; one that is not empty, as others write to it, is not removed.
                for path in [*sorted(inside, key=len, reverse=True), within]:
                    self._handler.delete_file(path)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.place.close()

    def _info(self, within: str) -> FileInfo:
        (info,) = self._handler.get_file_info([within])
        self._answered = time.monotonic()
        return info

    def _answering(self, within: str) -> DeltaFileSystemHandler:
        """For what holds Python's lock until the storage answers.

        Where that is away all threads would stand still as long. So one asks first in a way that lets them go on.
        """
        if time.monotonic() - self._answered > _LATELY_S:
            # Of a bucket itself nothing can be asked.
            self._info(within or ".headrace")
        return self._handler

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Turns what the library says of a storage that fails into errors of ours; a file may not be there, though."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            failed = told(self.trouble(), refusal(self.place.shown, error))
            if isinstance(failed, Unavailable) and failed.hint is None:
                failed.hint = self.place.hint
            raise failed or error from error

    def _within(self, path: str) -> str:
        if not path.startswith(f"{self.place.uri}/"):
            raise InvalidArgument(f"{path} is outside {self.place.shown}, where the store is")
        return path.removeprefix(f"{self.place.uri}/")
