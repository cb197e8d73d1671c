"""One run of a read: its rows, as the engine makes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager

import pyarrow as pa

from headrace.calls import Calls
from headrace.engine.failure import translated
from headrace.engine.passed import passed
from headrace.engine.session import Session
from headrace.formats.streamed import Batches
from headrace.planning.duckdb_sql import render
from headrace.planning.facts import Facts, needs_nanos
from headrace.planning.program import SPINE, Program
from headrace.protocol import BATCH_ROWS
from headrace.service.assembly import Assembly, engine_spine
from headrace.service.by_part import by_part
from headrace.service.planned import Planned
from headrace.service.record import FileCount
from headrace.service.scanning import Scanner


class Running:
    """One run of a read, on an engine session of its own. Nothing happens before the first row is asked for.

    Args:
        share: which part, of how many, of the rows it gives.
        told: within, a table that is not as it should be may be one that was deleted.
    """

    def __init__(
        self,
        planned: Planned,
        spine: pa.Table | None,
        share: tuple[int, int],
        scanner: Scanner,
        session: Session,
        calls: Calls,
        told: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._planned = planned
        self._plan = planned.plan
        self.schema = planned.plan.schema
        self._spine = spine
        self._share = share
        self._scanner = scanner
        self._session = session
        self._calls = calls
        self._told = told

    @property
    def files(self) -> FileCount:
        """Of its share, once the rows have begun."""
        return self._scanner.count(self._planned, self._share)

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._session.interrupt()

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._calls.steps(self._batches(batch_rows))

    def _batches(self, batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
        with self._ending():
            known = self._scanner.known(self._planned)
            if known is not None:
                yield from known.combine_chunks().to_batches(batch_rows)
                return
            straight = self._scanner.straight(self._planned, self._share)
            if straight is not None:
                yield from self._passed(straight, batch_rows)
                return
            yield from self._rows(*self._start(), batch_rows)

    def table(self) -> pa.Table:
        """All rows at once, made by all threads of the engine. Once only."""
        with self._ending():
            known = self._scanner.known(self._planned)
            if known is not None:
                return known
            straight = self._scanner.straight(self._planned, self._share)
            if straight is not None:
                return pa.Table.from_batches(self._passed(straight, None), self.schema)
            facts, program = self._start()
            if (
                len(program.outputs) == len(self.schema)
                and not program.ambiguous
                and len(self._plan.parts) < 2
            ):
                found = self._session.table(program.query)
                return found.rename_columns(self.schema.names).cast(self.schema)
            return pa.Table.from_batches(self._rows(facts, program, BATCH_ROWS), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def for_engine(self) -> pa.RecordBatchReader:
        """The rows as another session of the engine scans them."""
        return pa.RecordBatchReader.from_batches(self.schema, passed(self.batches()))

    def in_parts(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows as they are made, each batch with the number of the part that it is of. Once only."""
        with self._ending():
            facts, program = self._start()
            several = len(self._plan.parts) > 1
            for batch, source in self._assembled(facts, program, BATCH_ROWS):
                yield from by_part(batch, source.column(source.num_columns - 1)) if several else [(0, batch)]

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        try:
            with self._told():
                yield
        finally:
            self._session.close()

    def _passed(self, straight: Batches, batch_rows: int | None) -> Iterator[pa.RecordBatch]:
        """Rows that come in the columns of the result, in no larger batches than these."""
        self._session.also_cancel(straight)
        for batch in straight:
            named = pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
            step = batch_rows or max(1, batch.num_rows)
            for start in range(0, batch.num_rows, step):
                yield named.slice(start, step)

    def _rows(self, facts: Facts, program: Program, batch_rows: int) -> Iterator[pa.RecordBatch]:
        return (batch for batch, _ in self._assembled(facts, program, batch_rows))

    def _assembled(
        self, facts: Facts, program: Program, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Batches of the result, each with the engine's that it was made of."""
        assembly = Assembly(self._plan, program, self._spine)
        with translated():
            for batch in self._session.stream(program.query, batch_rows):
                side = assembly.ambiguous_side(batch)
                if side is not None:
                    raise self._scanner.ambiguity(self._planned, facts, side)
                yield assembly.batch(batch), batch

    def _start(self) -> tuple[Facts, Program]:
        """Everything before the statement whose rows are the result."""
        plan, scale = self._plan, 1000 if needs_nanos(self._plan) else 1
        spine_scale = scale
        if self._spine is not None:
            columns, nanos = engine_spine(plan, self._spine)
            if nanos:
                scale, spine_scale = 1000, 1
            self._session.register(SPINE, columns)
        facts = self._scanner.facts(self._planned, scale, spine_scale, self._session, self._share)
        program = render(plan, facts)
        for stage in program.stages:
            self._session.execute(stage)
        return facts, program
