"""The log on stderr: a record can be told from what was sent, and by its request."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from cli.helpers import headrace
from conftest import Server
from headrace.cli.log_lines import JsonLines, TextLines

HOSTILE = "name\n2026-01-01 00:00:00,000 ERROR headrace: forged\r\x1b[31m\u2028x"


def record(message: str, *arguments: object, request_id: str | None = None) -> logging.LogRecord:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        info = sys.exc_info()
    made = logging.LogRecord("headrace.service", logging.ERROR, "file", 1, message, arguments, info)
    if request_id is not None:
        made.request_id = request_id
    return made


def test_text_has_no_lines_but_ours() -> None:
    first, *rest = TextLines().format(record("request %s failed", HOSTILE)).split("\n")
    assert first.endswith(
        r"ERROR headrace.service: request name\n2026-01-01 00:00:00,000 ERROR headrace: forged\r\x1b[31m\u2028x failed"
    )
    assert rest
    assert all(line.startswith("    ") for line in rest)
    assert all(c.isprintable() for line in (first, *rest) for c in line)


@pytest.mark.parametrize("request_id", [None, "abc"])
def test_json_is_one_line_with_its_request(request_id: str | None) -> None:
    line = JsonLines().format(record("request %s failed", HOSTILE, request_id=request_id))
    assert line.isascii()
    assert line.isprintable()
    told = json.loads(line)
    assert (told["level"], told["logger"]) == ("ERROR", "headrace.service")
    assert told["message"] == f"request {HOSTILE} failed"
    assert told.get("request_id") == request_id
    assert "ValueError" in told["traceback"]


def test_lines_of_a_request_bear_its_id(serve: Callable[..., Server], tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    audit.mkdir()
    server = serve(None, "--log-format", "json", "--audit-log", str(audit / "log"))
    with server.connect(timeout=60) as store:
        shutil.rmtree(audit)
        store.list_feature_groups()
        with pytest.raises(hr.Unavailable, match="audit log") as caught:
            store.list_feature_groups()
    first, second = map(json.loads, server.log.read_text().splitlines())
    assert second["request_id"] == caught.value.request_id != first["request_id"]
    assert second["level"] == "ERROR"


def test_a_format_that_there_is_not(tmp_path: object) -> None:
    ran = headrace(
        "serve", "--root", tmp_path, "--listen", "grpc://127.0.0.1:0", "--log-format", "xml", "--json"
    )
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
