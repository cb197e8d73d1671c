"""Calls of a service over Arrow Flight: what they carry, and what their failures mean."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import uuid
import weakref
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.flight as fl
from msgspec.json import Decoder

from headrace import protocol
from headrace.calls import Calls
from headrace.client.address import Address, diagnose
from headrace.errors import (
    Cancelled,
    HeadraceError,
    InternalError,
    PermissionDenied,
    Timeout,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from headrace.tracing import client_span

Answer = TypeVar("Answer")

_TRANSLATED: tuple[tuple[type[Exception], type[HeadraceError]], ...] = (
    (fl.FlightCancelledError, Cancelled),
    (fl.FlightUnauthenticatedError, Unauthenticated),
    (fl.FlightUnauthorizedError, PermissionDenied),
    (pa.ArrowNotImplementedError, Unsupported),
)


class Wire:
    """The connections to a service for one project, which are closed when nobody holds them any more.

    Args:
        timeout: seconds that a call may take before its first answer; streams of rows may take any time.
        calls: closed before the connections are.
    """

    def __init__(self, address: Address, project: str, timeout: float | None, calls: Calls) -> None:
        self._address = address
        self._project = project
        self._timeout = timeout
        self._client = address.connect()
        self._connections = [self._client]
        self._lock = threading.Lock()
        # Called as the program ends, too.
        self._ending = weakref.finalize(self, _close, calls, self._connections)

    def ask(self, action: protocol.Action, body: object, answer: Decoder[Answer]) -> Answer:
        """The answer to what the service is asked to do or to tell."""
        with self._call(action, self._timeout) as options:
            results = list(self._client.do_action(fl.Action(action, protocol.encode(body)), options))
        return _decode(results[0].body.to_pybytes(), answer)

    def prepare(self, request: object, answer: Decoder[Answer]) -> tuple[Answer, tuple[bytes, ...]]:
        """The answer, and the tickets of the streams of rows that there are now."""
        with self._call("prepare", self._timeout) as options:
            info = self._client.get_flight_info(_descriptor(request), options)
        return _decode(bytes(info.app_metadata), answer), tuple(e.ticket.ticket for e in info.endpoints)

    def batches(self, ticket: bytes) -> Generator[pa.RecordBatch, None, None]:
        """The rows of a stream."""
        with self._call("read", None) as options:
            yield from _chunks(self._client.do_get(fl.Ticket(ticket), options))

    def table(self, tickets: Sequence[bytes]) -> pa.Table:
        """The rows of streams, all at once."""
        if len(tickets) == 1:
            return self._fetch(tickets[0], self._client)
        clients = self._clients(len(tickets))
        with ThreadPoolExecutor(len(clients)) as threads:
            # Each in a copy of this thread's context, which says of which trace the call is a part.
            contexts = [contextvars.copy_context() for _ in tickets]
            fetched = threads.map(lambda c, *given: c.run(self._fetch, *given), contexts, tickets, clients)
            return pa.concat_tables(fetched)

    def exchange(
        self, command: protocol.ReadCommand, rows: pa.RecordBatchReader
    ) -> Generator[pa.RecordBatch, None, None]:
        """The rows that the service gives for those that it is given."""
        with self._call("read", None) as options:
            writer, reader = self._client.do_exchange(_descriptor(command), options)
            try:
                with contextlib.suppress(pa.ArrowException, OSError):
                    # If the service has refused already, writing fails first, and reading tells why.
                    writer.begin(rows.schema)
                    for batch in rows:
                        writer.write_batch(batch)
                    writer.done_writing()
                yield from _chunks(reader)
            finally:
                with contextlib.suppress(pa.ArrowException, OSError):
                    writer.close()

    def put(
        self,
        command: protocol.InsertCommand | protocol.DatasetCommand,
        rows: SentRows,
        answer: Decoder[Answer],
    ) -> Answer | None:
        """The answer; None if the service did not want all rows, because it has made this write before."""
        kind = "create_dataset" if isinstance(command, protocol.DatasetCommand) else "insert"
        with self._call(kind, None) as options:
            writer, answers = self._client.do_put(_descriptor(command), rows.schema, options)
            try:
                for batch in rows:
                    writer.write_batch(batch)
                # Only this tells the service that the rows are complete: without it, nothing is committed.
                writer.write_metadata(protocol.complete(rows.sent))
                writer.done_writing()
                told = answers.read()
            except (pa.ArrowException, OSError):
                # Once the service has answered, writing fails without a reason: closing tells an error of it.
                writer.close()
                if rows.failure is not None:
                    raise
                told = None
            except BaseException:
                with contextlib.suppress(pa.ArrowException, OSError):
                    writer.close()
                raise
            else:
                writer.close()
        return None if told is None else _decode(told.to_pybytes(), answer)

    def close(self) -> None:
        self._ending()

    def _clients(self, number: int) -> list[fl.FlightClient]:
        """A connection for each of several streams: one thread works for each, and encrypts."""
        with self._lock:
            while len(self._connections) < number:
                self._connections.append(self._address.connect())
            return self._connections[:number]

    def _fetch(self, ticket: bytes, client: fl.FlightClient) -> pa.Table:
        with self._call("read", None) as options:
            return client.do_get(fl.Ticket(ticket), options).read_all()

    @contextlib.contextmanager
    def _call(self, kind: str, timeout: float | None) -> Iterator[fl.FlightCallOptions]:
        request_id = uuid.uuid4().hex[:16]
        headers = [
            (protocol.VERSION_HEADER.encode(), str(protocol.PROTOCOL_VERSION).encode()),
            (protocol.REQUEST_HEADER.encode(), request_id.encode()),
            (protocol.PROJECT_HEADER.encode(), self._project.encode()),
        ]
        if self._address.token is not None:
            headers.append((protocol.AUTHORIZATION_HEADER.encode(), f"Bearer {self._address.token}".encode()))
        with client_span(kind, headers, request_id):
            try:
                yield fl.FlightCallOptions(timeout=timeout, headers=headers)
            except (pa.ArrowException, OSError) as error:
                raise self._translate(error, request_id, timeout) from error

    def _translate(self, error: Exception, request_id: str, timeout: float | None) -> HeadraceError:
        told = getattr(error, "extra_info", None)
        if told:
            return protocol.decode_error(bytes(told))
        service = f"the service at {self._address.uri}"
        if isinstance(error, fl.FlightUnavailableError):
            return diagnose(self._address) or Unavailable(f"{service} did not answer", request_id=request_id)
        if isinstance(error, fl.FlightCancelledError) and self._ending.alive:
            # Not by us, nor for a reason that the service tells: it lets go of an address, and begins no call there.
            return Unavailable(f"{service} does not take the call", hint="try again", request_id=request_id)
        if isinstance(error, fl.FlightTimedOutError):
            waited = "" if timeout is None else f" within {timeout:g} seconds"
            return Timeout(f"{service} did not answer{waited}", request_id=request_id)
        for kind, ours in _TRANSLATED:
            if isinstance(error, kind):
                return ours(f"{service}: {error}", request_id=request_id)
        return InternalError(f"{service} failed: {error}", request_id=request_id)


class SentRows:
    """Rows of the caller's, to be sent; remembers how many, whether they ended, and what reading them raised."""

    def __init__(self, rows: pa.RecordBatchReader) -> None:
        self._rows = rows
        self.schema = rows.schema
        self.sent = 0
        self.ended = False
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._rows:
                yield batch
                self.sent += batch.num_rows
        except GeneratorExit:
            raise
        except BaseException as error:
            self.failure = error
            raise
        self.ended = True


def _close(calls: Calls, clients: list[fl.FlightClient]) -> None:
    """In a fork nothing is, for the connections are the parent's."""
    if calls.is_ours:
        calls.close()
        for client in clients:
            client.close()


def _descriptor(command: object) -> fl.FlightDescriptor:
    return fl.FlightDescriptor.for_command(protocol.encode(command))


def _chunks(reader: fl.FlightStreamReader) -> Iterator[pa.RecordBatch]:
    """The batches of a stream. Left early, it is cancelled, so that the service stops too."""
    whole = False
    try:
        while True:
            try:
                chunk = reader.read_chunk()
            except StopIteration:
                whole = True
                return
            if chunk.data is not None:
                yield chunk.data
    finally:
        if not whole:
            reader.cancel()


def _decode(body: bytes, kind: Decoder[Answer]) -> Answer:
    try:
        return kind.decode(body)
    except msgspec.MsgspecError as error:
        raise InternalError(f"the service sent an answer that cannot be read: {error}") from None
