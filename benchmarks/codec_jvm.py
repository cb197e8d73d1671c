"""Rows of a JVM to bytes and back, and from Python to a JVM and back, beside pickle as Spark has it.

Source: "Improving PySpark Performance with Cross-Language Optimization", its experiments on PART of TPC-H.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pickle
import socket
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from benchmarks import data
from benchmarks.codec import SIZES, Parts, told
from benchmarks.runner import Runner, Stage, Staged
from benchmarks.spark import FACES, PYTHON
from benchmarks.workload import Case, Goal, Workload

_ROW, _HUNDRED, _FORY = "pyrolite, a row", "pyrolite, 100 rows", "Fory, a row"
_OURS, _PLAIN = "row codec", "row codec, plain"
_PASSED = 2_000_000
"""Rows of a run: those of scale factor 1 ten times."""
_SOCKET_BYTES = 64 << 10
_LENGTH = struct.Struct(">i")
_COMMAND = struct.Struct(">ii")
_STREAM = 16_384
"""Rows of a stream that is sent."""
_ALL = 1 << 30
"""More rows than there are."""
_PIECES = {_ROW: 1, _HUNDRED: 100, _OURS: -_STREAM}
"""By system: rows of a pickle, or less than 0, of a stream."""


def _passes(rows: Sequence[Any]) -> int:
    return max(1, min(10, _PASSED // len(rows)))


class Peer:
    """A JVM with Spark's jars, `RowPeer`. It ends when its socket does."""

    def __init__(self) -> None:
        import headrace_spark
        import pyspark

        spark = Path(pyspark.__file__).parent / "jars" / "*"
        jars = (FACES, FACES.with_name("fory-core.jar"), headrace_spark.jar(pyspark.__version__), spark)
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

    def ask(self, command: str, size: int, times: int = 1) -> None:
        name = command.encode()
        self._out.write(struct.pack(">H", len(name)) + name + _COMMAND.pack(size, times))
        self._out.flush()

    def answered(self) -> int:
        return int.from_bytes(self._in.read(8), "big")

    def asked(self, command: str, size: int, times: int) -> int:
        self.ask(command, size, times)
        return self.answered()

    def hold(self, pieces: Iterable[bytes], size: int) -> int:
        """Have it keep pieces, and the rows in them: how many these are."""
        self.ask("hold", size)
        for piece in pieces:
            self.send(piece)
        self.end()
        return self.answered()

    def given(self, command: str, size: int = 0) -> Iterator[bytes]:
        self.ask(command, size)
        while (length := _LENGTH.unpack(self._in.read(4))[0]) >= 0:
            yield self._in.read(length)

    def send(self, piece: bytes) -> None:
        self._out.write(_LENGTH.pack(len(piece)))
        self._out.write(piece)

    def end(self) -> None:
        self._out.write(_LENGTH.pack(-1))
        self._out.flush()

    def close(self) -> None:
        self.ask("end", 0)
        for opened in (self._out, self._in, self._socket):
            opened.close()
        self._process.wait(60)


def _written(rows: list[Any], size: int, dictionaries: bool = True) -> Iterator[bytes]:
    """Pieces, as `RowPeer` has them."""
    if size == 1:
        for row in rows:
            yield pickle.dumps(row, 5)
    elif size > 0:
        for at in range(0, len(rows), size):
            yield pickle.dumps(rows[at : at + size], 5)
    else:
        from headrace_native import dump_rows

        for at in range(0, len(rows), -size):
            yield dump_rows(rows[at : at - size], dictionaries=dictionaries)


def _read(pieces: Iterable[bytes], size: int) -> list[Any]:
    if size == 1:
        return [pickle.loads(piece) for piece in pieces]
    if size > 0:
        loads = pickle.loads
    else:
        from headrace.rowcodec import loads
    return [row for piece in pieces for row in loads(piece)]


@dataclasses.dataclass(frozen=True)
class OnJVM:
    """Rows written as bytes in a JVM, or read from those that Python wrote; with Fory, that the JVM wrote.

    Args:
        size: rows of a pickle; 0, of Fory a row; or less than 0, of a stream.
    """

    source: Parts
    job: Literal["write", "read"]
    size: int
    dictionaries: bool = True

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        rows = self.source.rows()
        with contextlib.closing(Peer()) as peer:
            everything, passes = -len(rows), _passes(rows)
            held = self.size or everything
            assert peer.hold(_written(rows, held, self.dictionaries), held) == len(rows)
            del rows
            if self.size == 0:
                peer.asked("write", self.size, 1)

            def given() -> pa.Table:
                return told(_read(peer.given("give", everything), everything))

            def written() -> pa.Table:
                if self.size != 0:
                    return told(_read(peer.given("give pieces"), self.size))
                assert peer.asked("keep", self.size, 1) == -everything
                return given()

            if self.job == "write":
                stage = Stage(
                    lambda: peer.asked("write", self.size, passes), lambda _: written(), lambda size: size
                )
            else:
                stage = Stage(lambda: peer.asked("read", self.size, passes), lambda _: given())
            yield Staged(lambda _: nullcontext(stage))


@dataclasses.dataclass(frozen=True)
class ToJVM:
    """Rows of Python that a JVM has as its own at the end.

    Args:
        size: as of `OnJVM`.
    """

    source: Parts
    size: int

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        rows = self.source.rows()
        with contextlib.closing(Peer()) as peer:

            def job() -> int:
                for _ in range(_passes(rows)):
                    peer.ask("take", self.size)
                    for piece in _written(rows, self.size):
                        peer.send(piece)
                    peer.end()
                    count = peer.answered()
                return count

            def answer(count: int) -> pa.Table:
                assert count == len(rows)
                assert peer.hold(_written(rows, self.size), self.size) == count
                return told(_read(peer.given("give", -count), -count))

            yield Staged(lambda _: nullcontext(Stage(job, answer)))


@dataclasses.dataclass(frozen=True)
class FromJVM:
    """Rows of a JVM that Python has as its own at the end.

    Args:
        size: as of `OnJVM`.
    """

    source: Parts
    size: int

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        rows = self.source.rows()
        with contextlib.closing(Peer()) as peer:
            assert peer.hold(_written(rows, -_STREAM), -_STREAM) == len(rows)
            passes = _passes(rows)
            del rows

            def job() -> list[Any]:
                for _ in range(passes):
                    found = _read(peer.given("give", self.size), self.size)
                return found

            yield Staged(lambda _: nullcontext(Stage(job, told)))


def _faster(case: str, *, row: float, hundred: float) -> tuple[Goal, ...]:
    """So many times as fast as pickle, in time of the processors: those of both ends, which work at once."""
    return tuple(
        Goal(case, 1 / times, "cpu", "ratio", other) for other, times in ((_ROW, row), (_HUNDRED, hundred))
    )


def _cases(scale: float, ways: Mapping[str, Callable[[Parts], Runner]]) -> list[Case]:
    source = Parts(data.tpch(scale, ["part"])["part"])
    return [Case(name, make(source), python=PYTHON) for name, make in ways.items()]


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
        {
            _ROW: lambda source: OnJVM(source, "write", 1),
            _HUNDRED: lambda source: OnJVM(source, "write", 100),
            _FORY: lambda source: OnJVM(source, "write", 0),
            _OURS: lambda source: OnJVM(source, "write", -_ALL),
        },
        _faster(_OURS, row=7, hundred=12),
    ),
    _workload(
        "jvm-read",
        "from Python's bytes on a JVM, as often as gives 2 M rows",
        {
            _ROW: lambda source: OnJVM(source, "read", 1),
            _HUNDRED: lambda source: OnJVM(source, "read", 100),
            _FORY: lambda source: OnJVM(source, "read", 0),
            _OURS: lambda source: OnJVM(source, "read", -_ALL),
            _PLAIN: lambda source: OnJVM(source, "read", -_ALL, dictionaries=False),
        },
        (*_faster(_OURS, row=10, hundred=13), *_faster(_PLAIN, row=7.5, hundred=10)),
    ),
    _workload(
        "to-jvm",
        "from Python to a JVM over a socket, as often as gives 2 M rows",
        {name: functools.partial(ToJVM, size=size) for name, size in _PIECES.items()},
        _faster(_OURS, row=8, hundred=5.5),
    ),
    _workload(
        "from-jvm",
        "from a JVM to Python over a socket, as often as gives 2 M rows",
        {name: functools.partial(FromJVM, size=size) for name, size in _PIECES.items()},
        _faster(_OURS, row=5, hundred=4.2),
    ),
)
