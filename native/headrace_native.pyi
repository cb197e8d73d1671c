"""The native part of Headrace: the row codec, and a tunnel to the NameNodes of HDFS and HopsFS."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, final

class CertificateError(Exception):
    """A file of certificates or keys cannot be used: the message names it, and tells what to do."""

    file: str

@final
class Tunnel:
    """A port on 127.0.0.1 through which this process, and no other, reaches the active NameNode.

    With `ca`, the connections to the NameNodes are TLS 1.2 or 1.3, mutual if `cert` and `key` are given; all three
    are PEM files, read again for each connection. Without it they are plain TCP.

    A NameNode that does not answer within `answer_timeout` seconds is left for the next one. A call that has no
    answer after `outage_timeout` seconds fails at its client with the reason; while no NameNode has ever answered,
    after one and a half `connect_timeout`. A client that has asked nothing for `idle_timeout` seconds is
    disconnected; it connects again when it needs to.
    """

    def __new__(
        cls,
        namenodes: Sequence[str],
        *,
        ca: str | PathLike[str] | None = None,
        cert: str | PathLike[str] | None = None,
        key: str | PathLike[str] | None = None,
        server_name: str | None = None,
        verify: Literal["full", "chain"] = "full",
        connect_timeout: float = 10.0,
        answer_timeout: float = 30.0,
        outage_timeout: float = 90.0,
        idle_timeout: float = 60.0,
    ) -> Tunnel:
        """Raises `CertificateError`, and `ValueError` for anything else that makes no sense.

        `namenodes` are written `host:port`. `server_name` is expected in their certificates instead of the host's
        name; with `verify="chain"` no name is.
        """

    @property
    def port(self) -> int: ...
    @property
    def secure(self) -> bool:
        """Whether it speaks TLS to the NameNodes."""

    @property
    def failure(self) -> str | None:
        """What keeps it from an answer: which NameNode, and why. None once the call was answered all the same."""

    @property
    def failure_kind(
        self,
    ) -> Literal["tls", "refused", "unresolved", "unreachable", "timeout", "standby"] | None:
        """The kind of `failure`: a certificate that one side does not take, or no TLS that both speak; the other end
        speaks something else; nobody knows its name; no connection; no answer; no active NameNode."""

    def forget_failure(self) -> None: ...
    def close(self) -> None:
        """End every connection, at once. Closing twice does nothing."""

class RowError(Exception):
    """Rows that cannot be written or read.

    `argument`: what was given is not what can be taken; `class`: that of a record is not loaded, or has other fields;
    `refused`: a value needs pickle; `damaged`: the bytes break the format; `unsupported`: they use a part of Arrow
    that no rows are made of, or pickle cannot carry a value; `limit`: a value is too large.
    """

    kind: Literal["argument", "class", "refused", "damaged", "unsupported", "limit"]
    offset: int | None
    row: int | None
    """Counted from 0, where it could not be read."""
    column: str | None

def dump_rows(
    rows: Iterable[Any],
    allow_pickle: bool = True,
    compression: Literal["lz4", "zstd"] | None = None,
    dictionaries: bool = True,
    direct: bool | None = None,
    tier: Literal["program", "machine"] | None = None,
    only: Literal["alike", "plain"] | None = None,
) -> bytes:
    """Rows as bytes. With `direct=False` objects are read by CPython's API, and not where they lie.

    They are taken field by field, or by machine code that is made for their columns; without a `tier` by the latter
    once there were so many rows of these columns that it repays. "machine" is followed where it can be: `row_stats`
    tells how many rows it was. Both write the same bytes.

    With `only`, other rows are refused as if they needed pickle, and those that share large values. "alike": a type a
    column, and no classes but `Row`.
    "plain": tuples or values, of None, bool, int, float, str, bytes, Decimal, and lists and dicts of these, that all
    fit.
    """

def load_rows(buffer: object, allow_pickle: bool = False) -> list[Any]:
    """The rows that bytes hold."""

def load_columns(buffer: object) -> tuple[list[list[Any]], int]:
    """The columns of the rows that bytes hold, and how many rows there are; all of them must fit into the columns."""

def load_batch(schema: object, array: object, allow_pickle: bool = False) -> list[Any]:
    """The rows of a batch: its schema as a message of Arrow's, and a capsule of the C data interface."""

def row_stats() -> dict[str, int]:
    """What this process has written and read."""

@final
class RowEncoder:
    """Takes rows; calls `sink` with the bytes of each batch."""

    def __new__(
        cls,
        sink: Callable[[bytes], object],
        allow_pickle: bool = True,
        compression: Literal["lz4", "zstd"] | None = None,
        dictionaries: bool = True,
        direct: bool | None = None,
    ) -> RowEncoder: ...
    def append(self, row: Any) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
