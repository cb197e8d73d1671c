"""The audit log: a line for each call, whatever became of it."""

from __future__ import annotations

import datetime as dt
import logging
import os
import threading
from pathlib import Path

import msgspec

from headrace.errors import InvalidArgument, Unavailable
from headrace.service.record import CallRecord

_log = logging.getLogger("headrace.service")


class AuditLog:
    """Appends a line of JSON for each call to a file, and follows it when it is renamed.

    A line that cannot be written goes to the service's own log instead. From then on no call is answered until the
    file can be written again, where a line then tells how many it lacks.

    Args:
        file: made with mode 0600 if it is not there; one that is there keeps its mode.

    Raises:
        InvalidArgument: it cannot be opened.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._open: int | None = None
        self._missing = 0
        self._why = ""
        self._torn = False
        try:
            self._reopen()
        except OSError as error:
            raise InvalidArgument(
                f"the audit log {file} cannot be written: {error.strerror or error}",
                hint="name a file in a folder that is there, and that the service may write to",
            ) from None

    def keep(self, record: CallRecord) -> None:
        line = msgspec.json.encode(_told(record))
        with self._lock:
            try:
                self._write(line)
            except OSError as error:
                self._missing += 1
                self._why = error.strerror or str(error)
                _log.error(
                    "the audit log %s cannot be written: %s: %s",
                    self._file,
                    self._why,
                    line.decode(),
                    extra={"request_id": record.request_id},
                )

    def check(self) -> None:
        """Raises Unavailable while lines cannot be written."""
        if not self._missing:
            return
        with self._lock:
            try:
                self._write(msgspec.json.encode({"time": dt.datetime.now(dt.UTC), "missing": self._missing}))
                self._missing = 0
            except OSError as error:
                raise Unavailable(
                    f"the service answers no calls, since its audit log cannot be written: {error.strerror or error}",
                    hint="its operator must make room for it",
                ) from None

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                os.close(self._open)
                self._open = None

    def _write(self, line: bytes) -> None:
        """By one call of the system, so that lines of several processes do not mix."""
        line = b"\n" * self._torn + line + b"\n"
        written = os.write(self._current(), line)
        self._torn = written < len(line)
        if self._torn:
            raise OSError(0, "the disk is full")

    def _current(self) -> int:
        """The open file, if it is still the one of that name."""
        if self._open is not None:
            try:
                named, ours = os.stat(self._file), os.fstat(self._open)
                if (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino):
                    return self._open
            except FileNotFoundError:
                pass
        return self._reopen()

    def _reopen(self) -> int:
        opened = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._open is not None:
            os.close(self._open)
        self._open, self._torn = opened, False
        return opened


def _told(record: CallRecord) -> dict[str, object]:
    groups, views, users = record.names
    told: dict[str, object] = {
        "time": dt.datetime.fromtimestamp(record.started_ns / 1e9, dt.UTC),
        "request_id": record.request_id,
        "peer": record.peer,
        "user": record.user,
        "project": record.project,
        "call": record.kind,
        "feature_groups": groups,
        "feature_views": views,
        "users": users,
        "outcome": record.outcome,
        "rows": record.rows,
        "sent_bytes": record.sent,
        "received_bytes": record.received,
        "seconds": round(record.seconds, 6),
        "waited_seconds": round(record.waited, 6),
    }
    if record.files is not None:
        told["files_scanned"], told["files_pruned"] = record.files
    return told
