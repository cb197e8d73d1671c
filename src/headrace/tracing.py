"""Spans of calls, for OpenTelemetry, where the program has set it up; else nothing is loaded, and nothing done."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_API = "opentelemetry.trace"
_NAME = "headrace"


def is_on() -> bool:
    """Whether the program has given OpenTelemetry a provider, for which it must have loaded it."""
    trace = sys.modules.get(_API)
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextlib.contextmanager
def client_span(name: str, headers: list[tuple[bytes, bytes]], request_id: str) -> Iterator[None]:
    """A span of a call of ours, beneath that of the caller; `headers` are given what lets the service go on with it."""
    if not is_on():
        yield
        return
    from opentelemetry import trace

    span = trace.get_tracer(_NAME).start_span(
        f"headrace {name}", kind=trace.SpanKind.CLIENT, attributes={"headrace.request_id": request_id}
    )
    carrier: dict[str, str] = {}
    _propagator().inject(carrier, trace.set_span_in_context(span))
    headers += [(key.encode(), value.encode()) for key, value in carrier.items()]
    try:
        yield
    except GeneratorExit:  # the rows are no longer wanted
        raise
    except BaseException as error:
        failed(span, error.code if isinstance(error, HeadraceError) else type(error).__name__)
        raise
    finally:
        span.end()


def server_spans(
    name: str,
    carrier: Mapping[str, str],
    started_ns: int,
    seconds: float,
    phases: Sequence[tuple[str, float, float]],
    attributes: Mapping[str, Any],
    error: str | None,
) -> None:
    """The span of a call that has ended, and one beneath it for each of its phases. For when it `is_on`.

    Args:
        carrier: the headers that name the span above.
        started_ns: when the call came, in nanoseconds since 1970.
        phases: with the seconds since then at which they began and ended.
        error: the code of the error in which it ended.
    """
    from opentelemetry import trace

    tracer = trace.get_tracer(_NAME)
    span = tracer.start_span(
        f"headrace {name}",
        context=_propagator().extract(carrier),
        kind=trace.SpanKind.SERVER,
        attributes={key: value for key, value in attributes.items() if value is not None},
        start_time=started_ns,
    )
    within = trace.set_span_in_context(span)
    for phase, start, end in phases:
        part = tracer.start_span(phase, context=within, start_time=started_ns + round(start * 1e9))
        part.end(started_ns + round(end * 1e9))
    if error is not None:
        failed(span, error)
    span.end(started_ns + round(seconds * 1e9))


def failed(span: Span, code: str) -> None:
    """By the code alone: messages repeat what was given."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR))


def _propagator() -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator()
