"""One run of a read on Spark: its executors read the tables themselves, and no row passes through here unasked."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.backend import Spine
from headrace.calls import Calls
from headrace.engine.spark_failure import translated
from headrace.engine.spark_session import SparkEngine
from headrace.engine.spark_tables import table_of
from headrace.errors import AmbiguousRows, Cancelled, Unsupported
from headrace.model.definition import GroupDefinition
from headrace.model.resolved import Place
from headrace.planning.facts import Facts, needs_nanos, needs_width, unique_columns
from headrace.planning.parts import shares_of
from headrace.planning.rendering import needs_computing
from headrace.planning.spark_side_sql import side_sql
from headrace.planning.spark_sql import GIVEN, render_frame, render_spark, render_whole
from headrace.protocol import BATCH_ROWS
from headrace.service.ambiguity import ambiguous_rows
from headrace.service.assembly import Assembly, engine_spine
from headrace.service.by_part import by_part
from headrace.service.planned import Planned
from headrace.service.record import FileCount
from headrace.service.spark_spine import plain_spine, spine_of
from headrace.storage.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkRunning:
    """As `Running`, on a session of Spark. Nothing happens before the first row is asked for.

    Args:
        folder: gives where the table of a group lies.
        told: within, a table that is not as it should be may be one that was deleted.
    """

    def __init__(
        self,
        planned: Planned,
        spine: Spine | None,
        spark: SparkEngine,
        folder: Callable[[GroupDefinition], Folder],
        calls: Calls,
        told: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._planned = planned
        self._plan = planned.plan
        self.schema = planned.plan.schema
        self._spine = spine
        self._spark = spark
        self._folder = folder
        self._calls = calls
        self._told = told
        self._cancelled = False

    @property
    def files(self) -> FileCount:
        kept = {side: self._planned.files(side).num_rows for side in self._planned.snapshots}
        whole = sum(snapshot.files.num_rows for snapshot in self._planned.snapshots.values())
        return FileCount(sum(kept.values()), whole - sum(kept.values()))

    def cancel(self) -> None:
        """Stop; from any thread. The batches then end in `Cancelled`."""
        self._cancelled = True

    def batches(self, batch_rows: int = BATCH_ROWS) -> Generator[pa.RecordBatch, None, None]:
        """The rows as they are made. Once only; closing the iterator stops the work."""
        return self._calls.steps(self._sliced(batch_rows))

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches((batch for batch, _ in self._assembled()), self.schema)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def for_engine(self) -> pa.RecordBatchReader:
        """The rows as a session of the engine scans them."""
        return self.reader()

    def in_parts(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows as they are made, each batch with the number of the part that it is of. Once only."""
        several = len(self._plan.parts) > 1
        for batch, source in self._assembled():
            yield from by_part(batch, source.column(source.num_columns - 1)) if several else [(0, batch)]

    def frame(self) -> DataFrame:
        """The result as a frame of Spark's, which nothing has computed yet.

        Raises:
            Unsupported: Spark has no such table or type.
        """
        facts, relations = self._start(whole=True)
        refusals = {lookup.side: self._refusal(lookup.side) for lookup in self._plan.lookups}
        frame = self._spark.frame(
            lambda names: render_frame(self._plan, _named(facts, names), refusals),
            relations,
            computing=self._computing,
        )
        # The number of a part stays as it is called.
        return frame.toDF(*self.schema.names, *frame.columns[len(self.schema) :])

    def whole(self) -> tuple[DataFrame, tuple[int, ...]]:
        """All columns of the result, then a flag for each of some sides, true where a row found several of it, and
        the number of its part where there are several; with these sides.
        """
        facts, relations = self._start(whole=True)
        frame = self._spark.frame(
            lambda names: render_whole(self._plan, _named(facts, names)).query,
            relations,
            computing=self._computing,
        )
        return frame, render_whole(self._plan, facts).ambiguous

    def run(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        """The rows of a frame that was made of the result."""
        with self._told(), contextlib.closing(self._spark.batches(frame)) as batches:  # type: ignore[type-var]
            for batch in batches:
                if self._cancelled:
                    raise Cancelled("the query was cancelled")
                yield batch

    def ambiguity(self, side: int) -> AmbiguousRows:
        """The error to raise where a row of the result found several rows of a side, with examples."""
        return self._ambiguity(*self._start(whole=False), side)

    @property
    def _computing(self) -> bool:
        return needs_computing(self._plan) or bool(self._plan.parts)

    def _sliced(self, batch_rows: int) -> Generator[pa.RecordBatch, None, None]:
        for batch, _ in self._assembled():
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.slice(start, batch_rows)

    def _assembled(self) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Batches of the result, each with the engine's that it was made of."""
        # The columns of a spine that is Spark's come out of Spark, too.
        whole = not isinstance(self._spine, pa.Table | None)
        render = render_whole if whole else render_spark
        with self._told():
            facts, relations = self._start(whole=whole)
            program = render(self._plan, facts)
            frame = self._spark.frame(
                lambda names: render(self._plan, _named(facts, names)).query,
                relations,
                computing=self._computing,
            )
            assembly = Assembly(self._plan, program, None if whole else self._spine)
            with contextlib.closing(self._spark.batches(frame)) as batches:  # type: ignore[type-var]
                for batch in batches:
                    if self._cancelled:
                        raise Cancelled("the query was cancelled")
                    side = assembly.ambiguous_side(batch)
                    if side is not None:
                        raise self._ambiguity(facts, relations, side)
                    yield assembly.batch(batch), batch

    def _start(self, *, whole: bool) -> tuple[Facts, dict[int, DataFrame]]:
        plan, scale = self._plan, 1000 if needs_nanos(self._plan) else 1
        self._spark.check()
        relations = {}
        for side, snapshot in self._planned.snapshots.items():
            definition = plan.resolved.sides[side].definition
            folder, files = self._folder(definition), self._planned.files(side)
            with translated():
                relations[side] = table_of(self._spark.session, definition, folder, snapshot, files)
        spine_scale = scale
        if self._spine is not None and not isinstance(self._spine, pa.Table):
            self._check_drawn()
            relations[GIVEN] = spine_of(self._spine, plan)
        elif self._spine is not None:
            columns, nanos = engine_spine(plan, self._spine)
            if nanos:
                scale, spine_scale = 1000, 1
            relations[GIVEN] = self._spark.rows(plain_spine(columns, self._spine if whole else None))
        unique = {
            lookup.side
            for lookup in plan.lookups
            if self._planned.snapshots[lookup.side].unique_by(unique_columns(plan, lookup))
        }
        if plan.spine is None and self._planned.snapshots[0].unique_by(
            plan.resolved.root.definition.identity
        ):
            unique.add(0)
        names = {side: f"_{side}" for side in relations}
        facts = Facts(
            names, frozenset(unique), scale, spine_scale, "spark", wide=scale > 1 or needs_width(plan)
        )
        return facts, relations

    def _check_drawn(self) -> None:
        keys = self._plan.resolved.root.definition.primary_key
        if shares_of(self._plan.parts) and not any(self._plan.from_spine(Place(0, key)) for key in keys):
            raise Unsupported(
                "rows of a Spark frame have no numbers to draw them by, and the key of the root is not in it",
                hint="add the key, or pass an Arrow table",
            )

    def _refusal(self, side: int) -> str:
        found = ambiguous_rows(self._plan, side, [])
        return f"{found.code}: {found.message} ({found.hint})"

    def _ambiguity(self, facts: Facts, relations: dict[int, DataFrame], side: int) -> AmbiguousRows:
        lookup = next(x for x in self._plan.lookups if x.side == side)
        keys = [f"k{i}" for i in range(len(lookup.on))]
        frame = self._spark.frame(
            lambda names: (
                f"SELECT {', '.join(keys) or 'true AS whole'}"
                f" FROM ({side_sql(self._plan, lookup, _named(facts, names))}) WHERE j.a LIMIT 3"
            ),
            relations,
            computing=False,
        )
        table = pa.Table.from_batches(self._spark.batches(frame))
        columns = [key for _, key in lookup.on] or ["whole"]
        return ambiguous_rows(self._plan, side, table.rename_columns(columns).to_pylist())


def _named(facts: Facts, names: dict[int, str]) -> Facts:
    return dataclasses.replace(facts, relations=names)
