"""The log on stderr, for people or for programs."""

from __future__ import annotations

import datetime as dt
import json
import logging
from typing import Literal

LogFormat = Literal["text", "json"]


def log_on_stderr(form: LogFormat) -> None:
    """From now on, what all libraries log from warnings upwards, and Headrace what changes."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("headrace").setLevel(logging.INFO)


class TextLines(logging.Formatter):
    """A line a record. Further lines, as those of a traceback, begin with blanks: what was sent cannot look like a
    record of its own.
    """

    def format(self, record: logging.LogRecord) -> str:
        at = f"{self.formatTime(record)} {record.levelname} {record.name}: "
        lines = [at + _escaped(record.getMessage())]
        if record.exc_info:
            traceback = self.formatException(record.exc_info)
            lines += [f"    {_escaped(line)}" for line in traceback.splitlines()]
        return "\n".join(lines)


class JsonLines(logging.Formatter):
    """An object a record, each on one line."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = getattr(record, "request_id", None)
        if request_id is not None:
            told["request_id"] = request_id
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told)


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
