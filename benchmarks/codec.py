"""Rows to bytes and back: the row codec beside pickle and other serializers.

Source: "Improving PySpark Performance with Cross-Language Optimization", its experiments on PART of TPC-H.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import data, serializers
from benchmarks.runner import Stage, Staged
from benchmarks.serializers import Make
from benchmarks.shapes import SHAPES, Shape
from benchmarks.workload import Case, Goal, Workload

_COLUMNS = (
    "p_partkey", "p_name", "p_mfgr", "p_brand", "p_type", "p_size", "p_container", "p_retailprice", "p_comment"
)  # fmt: skip
_ROW, _HUNDRED, _OURS, _PLAIN = "pickle, a row", "pickle, 100 rows", "headrace", "headrace, plain"
_MAKE: dict[str, Make] = {
    _ROW: functools.partial(serializers.pickled, 1),
    _HUNDRED: functools.partial(serializers.pickled, 100),
    _OURS: functools.partial(serializers.headrace, True),
    _PLAIN: functools.partial(serializers.headrace, False),
    "msgspec": serializers.msgspec,
    "msgspec, 100 rows": serializers.msgspec_lists,
    "ormsgpack": serializers.ormsgpack,
    "msgpack": serializers.msgpack,
    "protobuf": serializers.protobuf,
    "BSON": serializers.bson,
    "Fory": serializers.fory,
    "pyarrow": serializers.pyarrow,
}


class Source(Protocol):
    """Rows, made or read in the process that needs them."""

    def rows(self) -> list[Any]: ...


@dataclasses.dataclass(frozen=True)
class Parts:
    """The rows of PART, as tuples of int, str and float."""

    path: Path

    def rows(self) -> list[Any]:
        table = pq.read_table(self.path, columns=list(_COLUMNS))
        price = table.schema.get_field_index("p_retailprice")
        table = table.set_column(price, "p_retailprice", table["p_retailprice"].cast(pa.float64()))
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@dataclasses.dataclass(frozen=True)
class Made:
    """Rows of a shape, the same each time."""

    shape: Shape
    count: int

    def rows(self) -> list[Any]:
        return [self.shape(number) for number in range(self.count)]


@dataclasses.dataclass(frozen=True)
class Coded:
    """Rows written as bytes, or read from them. The answer is what the rows are, types included."""

    source: Source
    make: Make
    job: Literal["encode", "decode"]

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        rows, codec = self.source.rows(), self.make()
        if self.job == "encode":
            stage = Stage(
                lambda: codec.encode(rows),
                lambda written: told(codec.decode(written)),
                lambda written: sum(map(len, written)),
            )
        else:
            written = codec.encode(rows)
            del rows
            stage = Stage(lambda: codec.decode(written), told)
        yield Staged(lambda _: nullcontext(stage))


def told(rows: Sequence[Any]) -> pa.Table:
    return pa.table({"row": [repr(row) for row in rows]})


def _parts(job: Literal["encode", "decode"]) -> Callable[[float], list[Case]]:
    def cases(scale: float) -> list[Case]:
        source = Parts(data.tpch(scale, ["part"])["part"])
        return [Case(name, Coded(source, make, job)) for name, make in _MAKE.items()]

    return cases


def _shaped(shape: Shape, alone: bool) -> Callable[[float], list[Case]]:
    makes: dict[str, Make] = {
        "pickle": functools.partial(serializers.pickled, 1 if alone else 100),
        "headrace": serializers.headrace_single if alone else functools.partial(serializers.headrace, True),
    }

    def cases(count: float) -> list[Case]:
        source = Made(shape, int(count))
        return [
            Case(f"{name}, {job}", Coded(source, make, job), against=f"pickle, {job}")
            for job in ("encode", "decode")
            for name, make in makes.items()
        ]

    return cases


def _faster(case: str, *, row: float, hundred: float) -> tuple[Goal, ...]:
    """So many times as fast as pickle."""
    against = {_ROW: row, _HUNDRED: hundred}
    return tuple(Goal(case, 1 / times, way="ratio", against=other) for other, times in against.items())


SIZES = {"full": 1.0, "small": 0.1, "smoke": 0.01}

WORKLOADS = (
    Workload(
        name="codec-encode",
        about="rows of PART, tuples of 9 values, to bytes",
        sizes=SIZES,
        unit="scale factor",
        systems=tuple(_MAKE),
        goals=(
            *_faster(_OURS, row=8, hundred=6),
            Goal(_OURS, 0.55, "size", "ratio", _ROW),
            Goal(_OURS, 0.6, "size", "ratio", _HUNDRED),
        ),
        runs=15,
        cases=_parts("encode"),
        baseline=_ROW,
    ),
    Workload(
        name="codec-decode",
        about="rows of PART, tuples of 9 values, from bytes",
        sizes=SIZES,
        unit="scale factor",
        systems=tuple(_MAKE),
        goals=(*_faster(_OURS, row=4, hundred=3.3), *_faster(_PLAIN, row=2.5, hundred=2.1)),
        runs=15,
        cases=_parts("decode"),
        baseline=_ROW,
    ),
    *(
        Workload(
            name=f"codec-{name}",
            about=f"{about}, to bytes and back; pickle has them {'alone' if name == 'row' else 'in lists of 100'}",
            sizes={"full": count, "small": count / 10, "smoke": 200},
            unit="rows",
            systems=("pickle, encode", "headrace, encode", "pickle, decode", "headrace, decode"),
            goals=tuple(
                Goal(f"headrace, {job}", 1.1, way="ratio", against=f"pickle, {job}")
                for job in ("encode", "decode")
            ),
            runs=15,
            cases=_shaped(shape, name == "row"),
        )
        for name, (about, shape, count) in SHAPES.items()
    ),
)
