"""Rows of a JVM to bytes and back, and from Python to a JVM and back, beside pickle as Spark has it.

Source: "Improving PySpark Performance with Cross-Language Optimization", its experiments on PART of TPC-H.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import pickle
import socket
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from benchmarks import data, serializers
from benchmarks.codec import SIZES, Parts, told
from benchmarks.runner import Runner, Stage, Staged
from benchmarks.serializers import Make
from benchmarks.spark import FACES, PYTHON, WARM_UP
from benchmarks.workload import Case, Goal, Workload

_PASSED = 2_000_000
"""Rows of a run: those of scale factor 1 ten times."""
_SOCKET_BYTES = 64 << 10
_LENGTH = struct.Struct(">i")
_COMMAND = struct.Struct(">ii")
_STREAM = 16_384
"""Rows of a stream that is sent."""
_ALL = 1 << 30
"""More rows than there are."""
_AT_ONCE = 1_000
"""Rows that Python turns into as many pieces before it sends them."""
_RIVALS: dict[str, Make] = {"bson": serializers.bson, "protobuf": serializers.protobuf}


@dataclasses.dataclass(frozen=True)
class Way:
    """How rows become pieces of bytes, in Python and on the JVM.

    Args:
        name: as the JVM's `Pieces` has it.
        rows: of a piece.
    """

    name: Literal["pickle", "stream", "fory", "bson", "protobuf"]
    rows: int = 1
    dictionaries: bool = True


_ROW, _HUNDRED, _OURS, _PLAIN = "pyrolite, a row", "pyrolite, 100 rows", "row codec", "row codec, plain"
_BSON, _PROTOBUF, _FORY = "BSON, a row", "protobuf, a row", "Fory, a row"
_WHOLE = Way("stream", _ALL)
_PICKLED = {_ROW: Way("pickle"), _HUNDRED: Way("pickle", 100)}
_OTHERS = {_BSON: Way("bson"), _PROTOBUF: Way("protobuf")}
_ON_JVM = _PICKLED | _OTHERS | {_FORY: Way("fory"), _OURS: _WHOLE}
_SENT = _PICKLED | _OTHERS | {_OURS: Way("stream", _STREAM)}


def passes(rows: int) -> int:
    """How often a run does its job with so many rows."""
    return max(1, min(10, _PASSED // rows))


class Peer:
    """A JVM with Spark's jars, `RowPeer`. It ends when its socket does."""

    def __init__(self) -> None:
        import headrace_spark
        import pyspark

        spark = Path(pyspark.__file__).parent / "jars" / "*"
        rivals = [FACES.with_name(f"{name}.jar") for name in ("bson", "fory-core", "protobuf-java")]
        jars = (FACES, *rivals, headrace_spark.jar(pyspark.__version__), spark)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            command = [
                "java",
                "-Xmx4g",
                "-cp",
                ":".join(map(str, jars)),
                "headrace.spark.rows.RowPeer",
                str(port),
            ]
            self._process = subprocess.Popen(command)
            listening.settimeout(60)
            self._socket, _ = listening.accept()
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in = self._socket.makefile("rb", _SOCKET_BYTES)
        self._out = self._socket.makefile("wb", _SOCKET_BYTES)

    def ask(self, command: str, way: Way, times: int = 1) -> None:
        for word in (command.encode(), way.name.encode()):
            self._out.write(struct.pack(">H", len(word)) + word)
        self._out.write(_COMMAND.pack(way.rows, times))
        self._out.flush()

    def answered(self) -> int:
        return int.from_bytes(self._in.read(8), "big")

    def asked(self, command: str, way: Way, times: int) -> int:
        self.ask(command, way, times)
        return self.answered()

    def hold(self, pieces: Iterable[bytes], way: Way) -> int:
        """Have it keep pieces, and the rows in them: how many these are."""
        self.ask("hold", way)
        for piece in pieces:
            self.send(piece)
        self.end()
        return self.answered()

    def given(self, command: str, way: Way = _WHOLE) -> Iterator[bytes]:
        self.ask(command, way)
        while (length := _LENGTH.unpack(self._in.read(4))[0]) >= 0:
            yield self._in.read(length)

    def send(self, piece: bytes) -> None:
        self._out.write(_LENGTH.pack(len(piece)))
        self._out.write(piece)

    def end(self) -> None:
        self._out.write(_LENGTH.pack(-1))
        self._out.flush()

    def close(self) -> None:
        self.ask("end", _WHOLE)
        for opened in (self._out, self._in, self._socket):
            opened.close()
        self._process.wait(60)


def _written(rows: list[Any], way: Way) -> Iterator[bytes]:
    """Pieces, by Python."""
    if way.name in _RIVALS:
        codec = _RIVALS[way.name]()
        for at in range(0, len(rows), _AT_ONCE):
            yield from codec.encode(rows[at : at + _AT_ONCE])
    elif way.name == "stream":
        from headrace_native import dump_rows

        for at in range(0, len(rows), way.rows):
            yield dump_rows(rows[at : at + way.rows], dictionaries=way.dictionaries)
    elif way.rows == 1:
        for row in rows:
            yield pickle.dumps(row, 5)
    else:
        for at in range(0, len(rows), way.rows):
            yield pickle.dumps(rows[at : at + way.rows], 5)


def _read(pieces: Iterator[bytes], way: Way) -> list[Any]:
    if way.name in _RIVALS:
        codec = _RIVALS[way.name]()
        found: list[Any] = []
        while some := list(itertools.islice(pieces, _AT_ONCE)):
            found += codec.decode(some)
        return found
    if way.name == "stream":
        from headrace.rowcodec import loads
    elif way.rows == 1:
        return [pickle.loads(piece) for piece in pieces]
    else:
        loads = pickle.loads
    return [row for piece in pieces for row in loads(piece)]


@dataclasses.dataclass(frozen=True)
class OnJVM:
    """Rows written as bytes in a JVM, or read from those that Python wrote; with Fory, that the JVM wrote."""

    way: Way
    source: Parts
    job: Literal["write", "read"]

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        way, rows = self.way, self.source.rows()
        shared = way.name != "fory"  # of Python and the JVM
        with contextlib.closing(Peer()) as peer:
            count, times = len(rows), passes(len(rows))
            held = way if shared else _WHOLE
            assert peer.hold(_written(rows, held), held) == count
            del rows
            if not shared:
                peer.asked("write", way, 1)

            def given() -> pa.Table:
                return told(_read(peer.given("give"), _WHOLE))

            def written() -> pa.Table:
                if shared:
                    return told(_read(peer.given("give pieces", way), way))
                assert peer.asked("keep", way, 1) == count
                return given()

            if self.job == "write":
                stage = Stage(lambda: peer.asked("write", way, times), lambda _: written(), lambda size: size)
            else:

                def read(number: int) -> pa.Table:
                    assert number == times * count
                    return given()

                stage = Stage(lambda: peer.asked("read", way, times), read)
            yield Staged(lambda _: nullcontext(stage))


@dataclasses.dataclass(frozen=True)
class ToJVM:
    """Rows of Python that a JVM has as its own at the end."""

    way: Way
    source: Parts

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        way, rows = self.way, self.source.rows()
        with contextlib.closing(Peer()) as peer:

            def job() -> int:
                for _ in range(passes(len(rows))):
                    peer.ask("take", way)
                    for piece in _written(rows, way):
                        peer.send(piece)
                    peer.end()
                    count = peer.answered()
                return count

            def answer(count: int) -> pa.Table:
                assert count == len(rows)
                assert peer.hold(_written(rows, way), way) == count
                return told(_read(peer.given("give"), _WHOLE))

            yield Staged(lambda _: nullcontext(Stage(job, answer)))


@dataclasses.dataclass(frozen=True)
class FromJVM:
    """Rows of a JVM that Python has as its own at the end."""

    way: Way
    source: Parts

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        way, rows = self.way, self.source.rows()
        with contextlib.closing(Peer()) as peer:
            assert peer.hold(_written(rows, _WHOLE), _WHOLE) == len(rows)
            times = passes(len(rows))
            del rows

            def job() -> list[Any]:
                for _ in range(times):
                    found = _read(peer.given("give", way), way)
                return found

            yield Staged(lambda _: nullcontext(Stage(job, told)))


def _faster(case: str, *, row: float, hundred: float) -> tuple[Goal, ...]:
    """So many times as fast as pickle, in time of the processors: those of both ends, which work at once."""
    return tuple(
        Goal(case, 1 / times, "cpu", "ratio", other) for other, times in ((_ROW, row), (_HUNDRED, hundred))
    )


def _cases(scale: float, ways: Mapping[str, Callable[[Parts], Runner]]) -> list[Case]:
    source = Parts(data.tpch(scale, ["part"])["part"])
    warm_up = WARM_UP if scale >= 1 else 0.0
    return [Case(name, make(source), python=PYTHON, warm_up=warm_up) for name, make in ways.items()]


def _workload(
    name: str, about: str, ways: Mapping[str, Callable[[Parts], Runner]], goals: Sequence[Goal]
) -> Workload:
    return Workload(
        name=f"codec-{name}",
        about=f"rows of PART, tuples of 9 values, {about}",
        sizes=SIZES,
        unit="scale factor",
        systems=tuple(ways),
        goals=tuple(goals),
        runs=15,
        cases=functools.partial(_cases, ways=ways),
        baseline=_ROW,
    )


WORKLOADS = (
    _workload(
        "jvm-write",
        "to bytes on a JVM, as often as gives 2 M rows",
        {name: functools.partial(OnJVM, way, job="write") for name, way in _ON_JVM.items()},
        _faster(_OURS, row=7, hundred=12),
    ),
    _workload(
        "jvm-read",
        "from Python's bytes on a JVM, as often as gives 2 M rows",
        {
            name: functools.partial(OnJVM, way, job="read")
            for name, way in (_ON_JVM | {_PLAIN: Way("stream", _ALL, dictionaries=False)}).items()
        },
        (*_faster(_OURS, row=10, hundred=13), *_faster(_PLAIN, row=7.5, hundred=10)),
    ),
    _workload(
        "to-jvm",
        "from Python to a JVM over a socket, as often as gives 2 M rows",
        {name: functools.partial(ToJVM, way) for name, way in _SENT.items()},
        _faster(_OURS, row=8, hundred=5.5),
    ),
    _workload(
        "from-jvm",
        "from a JVM to Python over a socket, as often as gives 2 M rows",
        {name: functools.partial(FromJVM, way) for name, way in _SENT.items()},
        _faster(_OURS, row=5, hundred=4.2),
    ),
)
