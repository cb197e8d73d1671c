"""Files by their whole paths, wherever they lie."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from headrace.errors import HeadraceError


class Fact(NamedTuple):
    """What is known of a file without reading it.

    Args:
        size: bytes.
        stamp: tells the file from another that took its place, as when a copy is restored.
    """

    size: int
    stamp: tuple[int, int]

    @property
    def modified(self) -> int:
        """When it was written, in nanoseconds since 1970; 0 where the storage does not tell."""
        return self.stamp[1]


class Listed(NamedTuple):
    """A file below a folder.

    Args:
        path: from the folder.
        size: bytes.
        modified: tells when it was written, in nanoseconds since 1970; 0 where the storage does not.
    """

    path: str
    size: int
    modified: int


class Files(Protocol):
    """Reads and removes files.

    Raises:
        FileNotFoundError: one is not there. OSError: it cannot be read.
    """

    @property
    def is_local(self) -> bool:
        """Whether any program on this machine finds the files under their paths."""
        ...

    def fact(self, path: str) -> Fact | None:
        """None where no file is."""
        ...

    def names(self, folder: str) -> list[str]:
        """What is in a folder, in no order; nothing where there is none."""
        ...

    def tree(self, folder: str, without: str) -> Iterator[Listed]:
        """Every file below a folder, in no order. Nothing where there is none.

        Args:
            without: a folder in it that is not looked into.
        """
        ...

    def read(self, path: str) -> bytes: ...

    def open(self, path: str) -> pa.NativeFile:
        """The file, for reads from anywhere in it."""
        ...

    def view(self, path: str) -> pa.NativeFile:
        """As `open`; mapped into memory where that can be."""
        ...

    def facts(self, paths: Sequence[str]) -> Iterator[Fact | None]:
        """As `fact`, of many files."""
        ...

    def trouble(self) -> HeadraceError | None:
        """Why the storage is out of reach, where that is known better than by what a call raised; told once."""
        ...


def lost(files: Files, paths: Sequence[str]) -> str | None:
    """The first of these files that is not there; None if all are."""
    return next((path for path, fact in zip(paths, files.facts(paths), strict=True) if fact is None), None)


def sync(path: str | os.PathLike[str]) -> None:
    """Bring a file's bytes, or the names in a folder, of this machine down to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class LocalFiles:
    """Those of this machine."""

    is_local = True

    def fact(self, path: str) -> Fact | None:
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        # A pipe would have its reader wait, and a device never ends.
        return (
            None
            if not stat.S_ISREG(found.st_mode)
            else Fact(found.st_size, (found.st_ino, found.st_mtime_ns))
        )

    def names(self, folder: str) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(folder)
        return []

    def tree(self, folder: str, without: str) -> Iterator[Listed]:
        """What several names lead to is there once: under one that is no link, if there is any."""
        inside, links = [""], list[str]()
        seen = set()
        while inside or links:
            within = inside.pop() if inside else links.pop()
            # It may be removed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                itself = os.stat(os.path.join(folder, within))
                if (itself.st_dev, itself.st_ino) in seen:
                    continue
                seen.add((itself.st_dev, itself.st_ino))
                if not stat.S_ISDIR(itself.st_mode):
                    yield Listed(within, itself.st_size, itself.st_mtime_ns)
                    continue
                for entry in sorted(os.scandir(os.path.join(folder, within)), key=_name):
                    path = f"{within}/{entry.name}" if within else entry.name
                    if path == without or not (entry.is_dir() or entry.is_file()):
                        continue  # a pipe would have a reader wait
                    if entry.is_symlink():
                        links.append(path)
                    elif entry.is_dir():
                        inside.append(path)
                    else:
                        fact = entry.stat()
                        if (fact.st_dev, fact.st_ino) not in seen:
                            yield Listed(path, fact.st_size, fact.st_mtime_ns)
                        seen.add((fact.st_dev, fact.st_ino))

    def read(self, path: str) -> bytes:
        with open(path, "rb", opener=_opened) as file:
            return file.read()

    def open(self, path: str) -> pa.NativeFile:
        return pa.OSFile(path)

    def view(self, path: str) -> pa.NativeFile:
        return pa.memory_map(path)

    def facts(self, paths: Sequence[str]) -> Iterator[Fact | None]:
        return map(self.fact, paths)

    def trouble(self) -> None:
        return None


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _opened(path: str, flags: int) -> int:
    """A file, and no folder or pipe, which would have its reader wait for a writer."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file", path)
    return descriptor
