"""Calls as spans: those of a client and those of the service in one trace, and none where nobody traces."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import headrace as hr
from headrace.config import store_config
from headrace.service import spans as service_spans
from headrace.service.record import CallRecord
from headrace.wiring import Service


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """Of the one provider that a process may have, and keeps."""
    made = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(made))
    yield made
    made.shutdown()  # so that it keeps nothing of other tests
    made.clear()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hr.FeatureStore]:
    service = Service(store_config(str(tmp_path_factory.mktemp("store") / "lake")), ["grpc://127.0.0.1:0"])
    with hr.connect(service.listening[0], timeout=60) as connected:
        people = connected.create_feature_group("people", primary_key=["id"])
        people.insert(pa.table({"id": [1, 2], "name": ["topsecret", "b"]}))
        yield connected
    service.stop()


def spans(exporter: InMemorySpanExporter, number: int) -> list[ReadableSpan]:
    """Those that have ended, in the order in which they began."""
    deadline = time.monotonic() + 10
    while len(exporter.get_finished_spans()) < number:
        assert time.monotonic() < deadline, [span.name for span in exporter.get_finished_spans()]
        time.sleep(0.01)
    found = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    assert len(found) == number, [span.name for span in found]
    return found


def test_a_read_of_several_streams_is_one_trace(
    store: hr.FeatureStore, exporter: InMemorySpanExporter
) -> None:
    two = store.create_feature_group("two", primary_key=["id"])
    for number in range(2):
        two.insert(pa.table({"id": [number]}), mode="append")
    exporter.clear()
    with trace.get_tracer("test").start_as_current_span("training"):
        result = two.read()
        assert len(result._prepared.tickets) == 2
        result.to_arrow()
    found = spans(exporter, 14)
    assert {span.context.trace_id for span in found} == {found[0].context.trace_id}


def test_a_read_is_one_trace(store: hr.FeatureStore, exporter: InMemorySpanExporter) -> None:
    people = store.get_feature_group("people")
    exporter.clear()
    with trace.get_tracer("test").start_as_current_span("training"):
        people.filter(people["name"] == "topsecret").read().to_arrow()
    found = spans(exporter, 9)
    assert {span.context.trace_id for span in found} == {found[0].context.trace_id}
    by_id = {span.context.span_id: span for span in found}

    def above(span: ReadableSpan) -> list[str]:
        names = [span.name]
        while span.parent is not None:
            span = by_id[span.parent.span_id]
            names.append(span.name)
        return names

    ways = sorted(above(span) for span in found)
    prepare, read = ["headrace prepare"] * 2, ["headrace read"] * 2
    assert ways == sorted(
        [["training"], *([*(way[i:]), "training"] for way in (prepare, read) for i in (0, 1))]
        + [["prepare", *prepare, "training"]]
        + [[phase, *read, "training"] for phase in ("queue", "run", "stream")]
    )
    servers = [span for span in found if span.kind is SpanKind.SERVER]
    clients = [span for span in found if span.kind is SpanKind.CLIENT]
    assert (len(servers), len(clients)) == (2, 2)
    for server in servers:
        client = by_id[server.parent.span_id]
        assert server.attributes["headrace.request_id"] == client.attributes["headrace.request_id"]
        assert client.start_time <= server.start_time <= server.end_time <= client.end_time
    (read_span,) = [span for span in servers if span.name == "headrace read"]
    assert read_span.attributes["headrace.rows"] == 1
    assert read_span.attributes["headrace.files_scanned"] == 1
    assert "topsecret" not in "".join(span.to_json() for span in found)


def test_an_error_is_told_by_its_code_alone(store: hr.FeatureStore, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    with pytest.raises(hr.NotFound):
        store.get_feature_group("nothing_of_this_name")
    client, server = spans(exporter, 2)
    for span in (client, server):
        assert span.status.status_code is StatusCode.ERROR
        assert span.attributes["error.type"] == "NOT_FOUND"
        assert "nothing_of_this_name" not in span.to_json()


def test_sql_stays_out_of_it(store: hr.FeatureStore, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    store.sql("SELECT count(*) AS n FROM people WHERE name = 'topsecret'").to_arrow()
    assert "topsecret" not in "".join(span.to_json() for span in spans(exporter, 8))


@pytest.mark.parametrize("header", ["", "no trace", "00-" + "f" * 300])
def test_who_sends_no_trace_begins_one(
    store: hr.FeatureStore, exporter: InMemorySpanExporter, header: str
) -> None:
    exporter.clear()
    record = CallRecord("r", "default", {"traceparent": header}, kind="hello")
    service_spans.trace(record)
    (span,) = spans(exporter, 1)
    assert span.parent is None


@pytest.mark.parametrize("loads", ["", "import opentelemetry.trace"])
def test_nothing_is_loaded_where_nobody_traces(tmp_path: Path, loads: str) -> None:
    program = f"""
import sys
{loads}
import headrace as hr
from headrace.config import store_config
from headrace.service import spans as service_spans
from headrace.service.record import CallRecord
from headrace.tracing import is_on
from headrace.wiring import Service
service = Service(store_config({str(tmp_path / "lake")!r}), ["grpc://127.0.0.1:0"])
with hr.connect(service.listening[0], timeout=60) as store:
    store.list_feature_groups()
service.stop()
assert not is_on()
assert bool({loads!r}) == any(name.startswith("opentelemetry") for name in sys.modules)
assert not any(name.startswith("opentelemetry.sdk") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
