"""Rows one by one."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

from headrace.rowcodec.native import Compression, errors, headrace_native


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Encoder:
    """Writes rows to a sink, a batch at a time, in the order in which they come.

    A row is taken as it is when it is appended. Use it as a context, or close it: that ends the stream.

    Args:
        sink: a file or the like, open for writing; it stays open.
        allow_pickle, compression, dictionaries: as of `dumps`.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        allow_pickle: bool = True,
        compression: Compression | None = None,
        dictionaries: bool = True,
    ) -> None:
        self._native = headrace_native.RowEncoder(sink.write, allow_pickle, compression, dictionaries)

    def append(self, row: Any) -> None:
        """Raises Unsupported, LimitExceeded, and the row is left out; or what the sink raises."""
        try:
            self._native.append(row)
        except headrace_native.RowError:
            with errors():
                raise

    def flush(self) -> None:
        """Write what was appended. Each flush makes a batch: rows that go together should be."""
        self._native.flush()

    def close(self) -> None:
        """Write what was appended, and the end. Closing twice does nothing."""
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
