"""Joins whose results are kept: given again, or computed and kept."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager

import msgspec
import pyarrow as pa

from headrace.cache.period import Period
from headrace.cache.results import Found
from headrace.engine.failure import translated
from headrace.errors import Cancelled, Conflict, HeadraceError
from headrace.model.definition import read_schema
from headrace.model.expression_sql import identifier
from headrace.model.query import groups_of
from headrace.model.request import Prepared, ReadRequest
from headrace.planning.canonical import Canonical, hash_of, rows_of
from headrace.protocol import BATCH_ROWS
from headrace.service.cache import Cache
from headrace.service.flights import Flight
from headrace.service.keeping import Keeping
from headrace.service.kept_rows import KeptRows
from headrace.service.reading import Reader
from headrace.service.record import FileCount
from headrace.service.running import Running
from headrace.service.spark_running import SparkRunning
from headrace.service.sql_reading import SqlReader
from headrace.service.sql_rows import SqlRows
from headrace.service.worker.sql import WorkerRows, WorkerSql

_MOST_STREAMS = 4
_ROWS = "__headrace_kept"

Computing = Running | SparkRunning | SqlRows | WorkerRows
"""Rows that are computed as they are taken."""


class CachedReads:
    """Reads of one project, for one caller, whose rights the readers know: they plan each before anything is given.

    Args:
        readers: gives the reads of a project, for the caller; None is this one.
        sql: those of queries in SQL.
    """

    def __init__(
        self,
        cache: Cache,
        readers: Callable[[str | None], Reader],
        sql: SqlReader | WorkerSql,
        project: str,
    ) -> None:
        self.cache = cache
        self.project = project
        self.calls = readers(None).calls
        self.engine = readers(None).engine
        self._readers = readers
        self._sql = sql

    def prepare(self, request: ReadRequest, gone: Callable[[], bool] = lambda: False) -> Prepared:
        if request.sql is not None:
            return self._sql.prepare(request, gone)
        return self._readers(None).prepare(request)

    def prepared(self, request: ReadRequest, prepared: Prepared) -> Prepared:
        """A pinned read, with where its rows are kept. `request` is what it was made of."""
        asked = self._canonical(prepared)
        until = None if asked is None else self._until(prepared)
        if asked is not None and until is None and request.now is None and self.cache.asked is not None:
            self.cache.asked.note(self.project, request, prepared)
        found = None if asked is None else self.cache.results.find(asked)
        if asked is None or found is None or found.left or asked.limit is not None:
            return prepared
        entry = found.entry
        if self.cache.results.promise(entry) is None:
            return prepared
        self.cache.results.hit(entry)
        # What is mapped, its holder may read for ever: what ceases to be given is sent.
        mapped = (self.cache.results.file(entry),) if until is None else ()
        return msgspec.structs.replace(
            prepared, kept=entry.id, mapped=mapped, mapped_columns=_columns(found, asked)
        )

    def parts(self, prepared: Prepared) -> int:
        """Into how many streams the read can be split."""
        asked = None if prepared.kept is None else self._canonical(prepared)
        kept = None
        if prepared.kept is not None and asked is not None:
            kept = self.cache.results.promised(prepared.kept, asked)
        if kept is None:
            reads = self._readers(None) if prepared.request.sql is None else self._sql
            return reads.parts(prepared)
        form = prepared.form
        if not self.cache.results.stays(kept) or (form is not None and not form.columns):
            return 1  # the rows may have an order, which several streams would not tell
        if self._until(prepared) is not None:
            return 1  # it is computed anew if that passes meanwhile, which several streams cannot be
        batches: int = kept.num_record_batches
        return max(1, min(_MOST_STREAMS, self.engine.threads, batches))

    def run(self, prepared: Prepared, part: int, parts: int) -> CachedRows | KeptRows | Computing:
        if prepared.request.sql is None:
            self._readers(None).check_there(prepared.request)
        asked = self._canonical(prepared)
        if prepared.kept is not None and asked is not None:
            kept = self.cache.results.promised(prepared.kept, asked)
            if kept is not None and 0 <= part < parts <= _MOST_STREAMS:
                schema = read_schema(prepared.schema_ipc)
                return KeptRows(kept, prepared.mapped_columns, schema, (part, parts), self.calls)
            if parts > 1:
                raise Conflict(
                    "the result that was kept has made room for others since the read was prepared",
                    hint="read it again",
                )
        if asked is None:
            return self.computing(prepared, part, parts)
        return CachedRows(self, prepared, asked)

    def computing(self, prepared: Prepared, part: int = 0, parts: int = 1) -> Computing:
        """The rows of a pinned read, whether or not they are kept."""
        if prepared.request.sql is not None:
            return self._sql.run(prepared, None, part, parts)
        return self._readers(None).run(prepared, None, part, parts)

    def compute_ahead(
        self, prepared: Prepared, stopped: Callable[[Callable[[], None]], AbstractContextManager[None]]
    ) -> str | None:
        """Have the result of a pinned read kept before anybody asks; gives its id, or None if that is not to be.

        Args:
            stopped: within, what it is given is called when users come.
        """
        asked = self._canonical(prepared)
        if asked is None or asked.limit is not None or self.cache.results.find(asked) is not None:
            return None
        keeping = self.keeping(asked, prepared, ahead=True)
        flight, ours = self.cache.flights.join(asked.key)
        if not ours:
            return None
        try:
            running = self.computing(prepared)
            with stopped(running.cancel):
                keeping.add_all(running.batches())
            return keeping.end()
        except HeadraceError as error:
            self.cache.results.computed(keeping.seconds, ahead=True, whole=not isinstance(error, Cancelled))
            flight.fail(error)
            raise
        finally:
            keeping.discard()
            flight.end()

    def keeping(self, asked: Canonical, prepared: Prepared, *, ahead: bool = False) -> Keeping:
        query, schema = prepared.request.query, read_schema(prepared.schema_ipc)
        groups = list(prepared.snapshots) if query is None else groups_of(query)
        until = self._until(prepared)
        return Keeping(self.cache, asked, schema, self.project, groups, ahead=ahead, until=until)

    def told(self, prepared: Prepared) -> str:
        """What the cache does for a pinned read, for people."""
        asked = self._canonical(prepared)
        if asked is None:
            return f"not kept: {self._why_not(prepared)}"
        found = self.cache.results.find(asked)
        if found is None:
            return "kept once it is computed, if that takes a while"
        entry = found.entry
        made = dt.datetime.fromtimestamp(entry.made, dt.UTC).isoformat(timespec="seconds")
        how = "computed ahead" if entry.ahead else "computed"
        times = "once" if entry.hits == 1 else f"{entry.hits} times"
        part = (
            "" if not found.left else "; it has more rows, and those that are asked for are chosen from them"
        )
        return f"kept since {made}, {how} in {entry.seconds:.3g} s, given {times} so far{part}"

    def _canonical(self, prepared: Prepared) -> Canonical | None:
        """What the result of a pinned read is kept under; None if it is not.

        Raises:
            NotFound: a table of a query in SQL was deleted since, or may not be seen any more.
        """
        if prepared.request.sql is None:
            return self._readers(None).canonical(prepared.request)
        if prepared.form is None:
            return None
        contents = [(label, reader.content(read)) for label, reader, read in self._tables(prepared)]
        if not all(content is not None for _, content in contents):
            return None
        schema, form = read_schema(prepared.schema_ipc), prepared.form
        places = form.columns or map(str, range(len(schema)))
        columns = tuple(hash_of([p, str(f.type)]) for p, f in zip(places, schema, strict=True))
        return Canonical(hash_of([form.family, sorted(contents)]), (), columns, prepared.request.limit)

    def _until(self, prepared: Prepared) -> Period | None:
        """When a result that is kept now ceases to be given."""
        if prepared.request.sql is None:
            return self._readers(None).until(prepared.request)
        ends = [reader.until(read) for _, reader, read in self._tables(prepared)]
        return min((end for end in ends if end is not None), key=lambda end: end.ends, default=None)

    def _tables(self, prepared: Prepared) -> Iterator[tuple[str, Reader, ReadRequest]]:
        """Of a query in SQL: as it names them, and the reads that give their rows."""
        for label, project in () if prepared.form is None else prepared.form.tables:
            yield label, self._readers(project), prepared.request.tables[label]

    def _why_not(self, prepared: Prepared) -> str:
        request = prepared.request
        if request.sql is None:
            return self._readers(None).planned(request).uncached or ""
        passing = (reader.planned(read).passing for _, reader, read in self._tables(prepared))
        return next((why for why in passing if why is not None), "it joins and computes nothing")


class CachedRows:
    """The rows of a join: those of a kept result, or computed and kept. Nothing happens before the first is wanted."""

    def __init__(self, reads: CachedReads, prepared: Prepared, asked: Canonical) -> None:
        self._reads = reads
        self._prepared = prepared
        self._asked = asked
        self._results = reads.cache.results
        self._stop: Callable[[], None] = lambda: None
        self._cancelled = False
        self.schema = read_schema(prepared.schema_ipc)
        self.files: FileCount | None = FileCount(0, 0)

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._cancelled = True
        self._stop()

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._reads.calls.steps(self._batches())

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        given = self._given()
        flight, again = None, given is None and self._asked.limit is None
        while again:
            flight, ours = self._reads.cache.flights.join(self._asked.key)
            again = not ours and flight.wait(self._check)
            if not ours:
                flight = None
            # Whoever had it computed just before may have ended since it was looked for.
            given = None if again else self._given()
        if given is not None:
            if flight is not None:
                flight.end()
            yield from given
            return
        self._results.missed()
        yield from (self._computed() if flight is None else self._kept(flight))

    def _given(self) -> Iterator[pa.RecordBatch] | None:
        found = self._results.find(self._asked)
        kept = None if found is None else self._results.opened(found.entry)
        if found is None or kept is None:
            return None
        self._results.hit(found.entry)
        self.files = FileCount(0, 0)
        if found.left:
            return self._tested(found, kept)
        columns = _columns(found, self._asked)
        rows = KeptRows(kept, columns, self.schema, (0, 1), self._reads.calls, self._asked.limit)
        self._stops(rows.cancel)
        return rows.batches()

    def _tested(
        self, found: Found, kept: pa.ipc.RecordBatchFileReader
    ) -> Generator[pa.RecordBatch, None, None]:
        """Those of the rows that pass the tests that are left."""
        names = {column: f"c{i}" for i, column in enumerate(found.entry.columns)}
        wanted = ", ".join(identifier(name) for name in _columns(found, self._asked))
        limit = "" if self._asked.limit is None else f" LIMIT {self._asked.limit}"
        query = f"SELECT {wanted} FROM {_ROWS} WHERE {rows_of(found.left, names)}{limit}"
        with self._reads.engine.session() as session:
            self._stops(session.interrupt)
            session.register(_ROWS, kept.read_all())
            with translated():
                for batch in session.stream(query, BATCH_ROWS):
                    columns = [c.cast(f.type) for c, f in zip(batch.columns, self.schema, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _computed(self) -> Generator[pa.RecordBatch, None, None]:
        running = self._reads.computing(self._prepared)
        self._stops(running.cancel)
        try:
            yield from running.batches()
        finally:
            self.files = running.files

    def _kept(self, flight: Flight) -> Generator[pa.RecordBatch, None, None]:
        rows, keeping = self._computed(), None
        try:
            keeping = self._reads.keeping(self._asked, self._prepared)
            for batch in keeping.watched(rows):
                if not keeping.is_wanted:
                    flight.end()  # it is not kept, so that nobody need wait for it
                flight.pause()
                yield batch
                flight.go_on()
            keeping.end_soon(self._reads.calls, flight.end)
        except BaseException as error:
            rows.close()
            if keeping is not None:
                keeping.discard()
            flight.fail(error)
            flight.end()
            raise

    def _stops(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        if self._cancelled:
            stop()

    def _check(self) -> None:
        if self._cancelled:
            raise Cancelled("the read was cancelled")


def _columns(found: Found, asked: Canonical) -> tuple[str, ...]:
    """The names in the file of the columns that are asked for."""
    return tuple(f"c{found.entry.columns.index(column)}" for column in asked.columns)
