"""What changed between two snapshots of a table: a relation like that of a snapshot."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from headrace.formats.base import Snapshot
from headrace.formats.duckdb_type import duckdb_type
from headrace.model.expression_sql import identifier, text
from headrace.model.feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, FEED_FIELDS

_MAIN = ("insert", "delete")
HIDDEN = "__headrace_"
"""What no column's name begins with."""
_TOLD = (pa.field(CHANGE_TYPE, pa.string()),)


@dataclasses.dataclass(frozen=True)
class Feed(Snapshot):
    """The changes of the commits after a snapshot, up to `version`.

    `files` has, beside what a snapshot's has, a file's `change` (null where each row tells its own), its commit's
    `commit` and `time`, and whether what the commit deletes and inserts under one identity is `paired` to an update.

    Args:
        identity: the columns that identify a row.
    """

    identity: tuple[str, ...] = ()

    def relation(self, files: pa.Table | None = None) -> str:
        files = self.files if files is None else files
        if files.num_rows == 0:
            columns = ", ".join(
                f"CAST(NULL AS {duckdb_type(f.type)}) AS {identifier(f.name)}"
                for f in (*self.schema, *FEED_FIELDS)
            )
            return f"(SELECT {columns} WHERE false)"
        parts = []
        for paired in (False, True):
            for told in (False, True):
                mask = [
                    pair == paired and (change is None) == told
                    for pair, change in zip(
                        files["paired"].to_pylist(), files["change"].to_pylist(), strict=True
                    )
                ]
                chosen = files.filter(pa.array(mask))
                if chosen.num_rows:
                    part = self._part(chosen, told)
                    parts.append(self._paired(part) if paired else part)
        return f"({' UNION ALL '.join(parts)})"

    def _part(self, files: pa.Table, told: bool) -> str:
        """The rows of files that all tell the change of each row, or all do not."""
        rows = files.select(
            [*(f"partition.{c}" for c in self.partition_by), "change", "commit", "time"]
        ).to_pylist()
        values = ", ".join(f"({i}, {', '.join(map(_literal, row.values()))})" for i, row in enumerate(rows))
        names = [*(f"p{i}" for i in range(len(self.partition_by))), "change", "version", "time"]
        columns = [
            f"CAST(p.p{self.partition_by.index(f.name)} AS {duckdb_type(f.type)}) AS {identifier(f.name)}"
            if f.name in self.partition_by
            else f"CAST(r.{identifier(f.name)} AS {duckdb_type(f.type)}) AS {identifier(f.name)}"
            for f in self.schema
        ]
        change = f"r.{CHANGE_TYPE}" if told else "p.change"
        columns += [
            f"{change} AS {CHANGE_TYPE}",
            f"CAST(p.version AS BIGINT) AS {COMMIT_VERSION}",
            f"make_timestamptz(CAST(p.time AS BIGINT)) AS {COMMIT_TIMESTAMP}",
        ]
        return (
            f"SELECT {', '.join(columns)} FROM {self.source(files, _TOLD if told else ())} AS r "
            f"JOIN (VALUES {values}) AS p(i, {', '.join(names)}) ON r.file_index = p.i"
        )

    def _paired(self, part: str) -> str:
        """One of the rows deleted and one inserted under an identity are the images of an update."""
        names = ", ".join([COMMIT_VERSION, *map(identifier, self.identity)])
        counts = ", ".join(
            f"count(*) FILTER ({CHANGE_TYPE} = {text(c)}) OVER (PARTITION BY {names}) AS {HIDDEN}{c}s"
            for c in _MAIN
        )
        number = f"row_number() OVER (PARTITION BY {names}, {CHANGE_TYPE}) AS {HIDDEN}number"
        hidden = [f"{HIDDEN}{name}" for name in ("number", "deletes", "inserts")]
        image = (
            f"CASE WHEN {hidden[0]} > 1 OR {hidden[1]} = 0 OR {hidden[2]} = 0 THEN {CHANGE_TYPE} "
            f"WHEN {CHANGE_TYPE} = 'delete' THEN 'update_preimage' "
            f"WHEN {CHANGE_TYPE} = 'insert' THEN 'update_postimage' ELSE {CHANGE_TYPE} END"
        )
        return (
            f"SELECT * EXCLUDE ({', '.join(hidden)}) REPLACE ({image} AS {CHANGE_TYPE}) "
            f"FROM (SELECT *, {counts}, {number} FROM ({part}))"
        )


def _literal(value: object) -> str:
    return "NULL" if value is None else text(str(value))
