"""Spans of calls, made of their records."""

from __future__ import annotations

from headrace.service.record import OK, CallRecord
from headrace.tracing import is_on, server_spans


def trace(record: CallRecord) -> None:
    """Nothing where nobody traces."""
    if not is_on():
        return
    server_spans(
        record.kind,
        record.trace,
        record.started_ns,
        record.seconds,
        record.phases(),
        {
            "headrace.request_id": record.request_id,
            "headrace.project": record.project,
            "headrace.rows": record.rows,
            "headrace.files_scanned": record.files.scanned if record.files else None,
            "headrace.files_pruned": record.files.pruned if record.files else None,
        },
        None if record.outcome == OK else record.outcome,
    )
