"""What a service counts and measures, in Prometheus's format.

No label says who, or of which group: their number would have no bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headrace.errors import Busy, Cancelled, HeadraceError
from headrace.model.kept_result import CacheStatistics
from headrace.service.queries import Queries
from headrace.service.record import OK, CallRecord
from headrace.service.store import Store

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_OUTCOMES = {OK: "ok", Busy.code: "busy", Cancelled.code: "cancelled"}


class Metrics:
    """Those of one service, in a registry of their own."""

    def __init__(self, store: Store, queries: Queries) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "headrace_call_seconds",
            "Seconds that calls took, from their headers to their last row.",
            ["kind", "outcome"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._waited = Histogram(
            "headrace_wait_seconds",
            "Seconds for which queries waited for their turn.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._errors = self._counter(
            "headrace_errors", "Calls that failed, by the code of the error.", "code"
        )
        self._rows = self._counter("headrace_rows", "Rows that were sent, or received.", "kind")
        self._bytes = self._counter(
            "headrace_bytes", "Bytes of rows in memory, and of answers, sent or received.", "direction"
        )
        self._files = self._counter(
            "headrace_files",
            "Files of tables that reads took in, and those that they could pass over.",
            "how",
        )
        self._rejected = Counter(
            "headrace_rejected", "Calls for which there was no room.", registry=self._registry
        )
        self._cancelled = Counter(
            "headrace_cancelled",
            "Calls that were stopped, or left by their callers.",
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(_Now(store, queries))

    def count(self, record: CallRecord) -> None:
        outcome = _OUTCOMES.get(record.outcome, "error")
        self._seconds.labels(record.kind, outcome).observe(record.seconds)
        if any(phase == "queue" for phase, *_ in record.phases()):
            self._waited.observe(record.waited)
        if outcome != "ok":
            self._errors.labels(record.outcome).inc()
        if outcome == "busy":
            self._rejected.inc()
        if outcome == "cancelled":
            self._cancelled.inc()
        if record.rows:
            self._rows.labels(record.kind).inc(record.rows)
        self._bytes.labels("sent").inc(record.sent)
        self._bytes.labels("received").inc(record.received)
        if record.files is not None:
            self._files.labels("scanned").inc(record.files.scanned)
            self._files.labels("pruned").inc(record.files.pruned)

    def text(self) -> bytes:
        """All of them now, as `CONTENT_TYPE`."""
        return generate_latest(self._registry)

    def _counter(self, name: str, what: str, label: str) -> Counter:
        return Counter(name, what, [label], registry=self._registry)


class _Now(Collector):
    """What is so at the moment, and is asked for when somebody wants to know."""

    def __init__(self, store: Store, queries: Queries) -> None:
        self._store = store
        self._queries = queries

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        yield _gauge("headrace_queries_running", "Queries that have a turn.", self._queries.running)
        yield _gauge("headrace_queries_waiting", "Queries that wait for a turn.", self._queries.waiting)
        yield _gauge("headrace_draining", "Whether the service is about to stop.", self._queries.draining)
        try:
            memory, spilled = self._store.engine.memory()
        except HeadraceError:
            return  # it is being closed
        yield _gauge("headrace_engine_memory_bytes", "Memory that the query engine holds.", memory)
        yield _gauge("headrace_engine_spilled_bytes", "Bytes that the query engine has put on disk.", spilled)

        if self._store.cache is not None:
            yield from _of_cache(self._store.cache.results.statistics())
        if self._store.workers is not None:
            processes, held = self._store.workers.held()
            yield _gauge("headrace_sql_processes", "Processes that run what users write in SQL.", processes)
            yield _gauge("headrace_sql_memory_bytes", "Memory that these processes hold.", held)


def _of_cache(found: CacheStatistics) -> Iterator[Metric]:
    yield _gauge("headrace_cache_results", "Results of joins that are kept.", found.results)
    yield _gauge("headrace_cache_bytes", "Bytes of results that are kept.", found.size_bytes)
    hits = CounterMetricFamily(
        "headrace_cache_hits", "Joins that were given a kept result, by why it was made.", labels=["made"]
    )
    hits.add_metric(["ahead"], found.hits_ahead)
    hits.add_metric(["asked"], found.hits - found.hits_ahead)
    yield hits
    yield _counter("headrace_cache_misses", "Joins that were computed.", found.misses)
    yield _counter("headrace_cache_evicted", "Results that made room for others.", found.evicted)
    yield _counter("headrace_cache_damaged", "Files that were not as they were written.", found.damaged)
    yield _counter(
        "headrace_cache_wasted_bytes", "Bytes of what was computed ahead in vain.", found.wasted_bytes
    )
    seconds = CounterMetricFamily("headrace_cache_seconds", "Seconds of computing.", labels=["what"])
    for what, value in (
        ("saved", found.seconds_saved),
        ("computed", found.seconds_computed),
        ("ahead", found.seconds_ahead),
        ("wasted", found.wasted_seconds),
    ):
        seconds.add_metric([what], value)
    yield seconds


def _counter(name: str, what: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(name, what, value)


def _gauge(name: str, what: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, what, value)
