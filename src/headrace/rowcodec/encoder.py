"""Rows one by one."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from headrace.errors import InvalidArgument
from headrace.rowcodec.native import Compression, errors, headrace_native


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


def _write(sink: Sink) -> Callable[[bytes], object]:
    """Writes all of what it is given; a file or socket without a buffer may take a part of it."""
    if not isinstance(sink, io.RawIOBase):
        return sink.write

    def write(data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = sink.write(left)
            if written is None:
                raise BlockingIOError(
                    "the sink does not block, and takes no more bytes now: give one that does"
                )
            left = left[written:]

    return write


class Encoder:
    """Writes rows to a sink, a batch at a time, in the order in which they come.

    A row is taken as it is when it is appended; where one needs another schema than those before, another stream of
    Arrow follows. Use it as a context, or close it: that ends the stream. It is used by one thread at a time.

    Args:
        sink: a file or the like, open for writing; it stays open.
        allow_pickle, compression, dictionaries: as of `dumps`.

    Raises:
        InvalidArgument: the sink has no method `write`, or the compression is not known.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        allow_pickle: bool = True,
        compression: Compression | None = None,
        dictionaries: bool = True,
    ) -> None:
        if not callable(getattr(sink, "write", None)):
            raise InvalidArgument(
                f"an encoder cannot write to a {type(sink).__name__}",
                hint='give a file that is open for writing: open(path, "wb")',
            )
        with errors():
            self._native = headrace_native.RowEncoder(_write(sink), allow_pickle, compression, dictionaries)

    def append(self, row: Any) -> None:
        """Raises Unsupported, LimitExceeded, and the row is left out; InvalidArgument: it is closed, in use, or its
        sink has raised before; or what the sink raises, after which nothing more can be written."""
        try:
            self._native.append(row)
        except headrace_native.RowError:
            with errors():
                raise

    def flush(self) -> None:
        """Write what was appended. Each flush makes a batch: rows that go together should be. Raises as `append`."""
        with errors():
            self._native.flush()

    def close(self) -> None:
        """Write what was appended, and the end. Closing twice does nothing. Raises as `append`."""
        with errors():
            self._native.close()

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Rows before a failure end with it: a stream without its end is known to be cut short.
        if kind is None:
            self.close()
