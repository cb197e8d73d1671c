"""The harness's side of the process in which one case runs."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil

from benchmarks.message import Failure, Found, Ready, Request, Start, Timing
from benchmarks.sample import Sample
from benchmarks.workload import Case

_ROOT = Path(__file__).parent.parent
_END_SECONDS = 30.0
_SAMPLE_SECONDS = 0.05
_LOOK_SECONDS = 1.0
"""After so long it is looked for what a job has started meanwhile, which takes milliseconds."""
_LOG_SHOWN = 4_000
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"
"""With which each new process would compile all that it imports, as nothing that is installed does."""


class CaseFailed(Exception):
    """A case could not do its job."""


class CaseProcess:
    """One case in a process of its own, which is warm after its first run. What it says goes to `log`.

    It opens by itself, so that several can side by side: `wait` for each.
    """

    def __init__(self, case: Case, log: IO[bytes]) -> None:
        self.case = case
        self._log = log
        try:
            self._process = subprocess.Popen(
                [case.python, "-m", "benchmarks.worker", str(os.getpid())],
                cwd=_ROOT,
                env={name: value for name, value in os.environ.items() if name != _UNCOMPILED},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        except FileNotFoundError:
            raise CaseFailed(
                f"{case.name} needs {case.python}, which is not there: make bench WORKLOAD=… installs what it needs"
            ) from None
        self._client = psutil.Process(self._process.pid)
        self._services: set[psutil.Process] = set()
        self._open = False
        try:
            self._send(Start(case.runner, case.servers))
        except BaseException:
            self._kill()
            raise

    def wait(self) -> None:
        """Until it is open, as it must be before it runs. Raises CaseFailed."""
        try:
            ready: Ready = self._receive()
        except BaseException:
            self._kill()
            raise
        for pid in ready.services:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since
                self._services.add(psutil.Process(pid))
        self._open = True

    def run(self, number: int, *, first: bool = False) -> Sample:
        """Do the job once. The first time the memory is watched, and the answer's content is told."""
        self._send(Request(number, check=first))
        client_peak, service_peak = self._watch() if first else (None, None)
        timing: Timing = self._receive()
        found: Found = self._receive()
        return Sample(
            case=self.case.name,
            number=number,
            first=first,
            wall=timing.wall,
            cpu=timing.cpu,
            server_cpu=timing.server_cpu,
            written=timing.written,
            rows=found.rows,
            checksum=found.checksum,
            client_peak=client_peak,
            service_peak=service_peak,
            size=found.size,
        )

    def end(self) -> None:
        """Tell it to, and do not wait."""
        with contextlib.suppress(OSError):
            self._send(None)

    def close(self) -> None:
        if not self._open:  # it would not hear of its end before it is
            self._kill()
            return
        self.end()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
        for service in self._services:  # of a process that was killed nobody else ends them
            with contextlib.suppress(psutil.NoSuchProcess):
                service.kill()

    def _watch(self) -> tuple[int, int]:
        """Sample both sides' memory until the answer comes. Looking costs time, though little."""
        assert self._process.stdout is not None
        services, looked = self._services, 0.0
        client = service = 0
        while True:
            answered, _, _ = select.select([self._process.stdout], [], [], _SAMPLE_SECONDS)
            if time.monotonic() - looked > _LOOK_SECONDS:
                services, looked = self._services | self._started(), time.monotonic()
            client = max(client, _anonymous(self._client))
            service = max(service, sum(map(_anonymous, services)))
            if answered:
                return client, service

    def _started(self) -> set[psutil.Process]:
        try:
            return set(self._client.children(recursive=True))
        except psutil.NoSuchProcess:
            return set()

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        try:
            message = pickle.load(self._process.stdout)
        except EOFError:
            raise self._failed(f"its process ended with {self._process.wait()}") from None
        if isinstance(message, Failure):
            raise self._failed(message.text)
        return message

    def _failed(self, why: str) -> CaseFailed:
        self._log.seek(0)
        said = self._log.read().decode(errors="replace")[-_LOG_SHOWN:]
        return CaseFailed(f"{self.case.name} failed: {why}\nIt said:\n{said}")

    def _kill(self) -> None:
        """End the process and what it started, if it does not end by itself."""
        try:
            started = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            started = []
        for process in (*started, self._process):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()


@contextlib.contextmanager
def running(case: Case) -> Iterator[CaseProcess]:
    """A process that is open."""
    with opening(case) as process:
        process.wait()
        yield process


@contextlib.contextmanager
def opening(case: Case) -> Iterator[CaseProcess]:
    """A process that must be waited for."""
    with tempfile.TemporaryFile() as log:
        process = CaseProcess(case, log)
        try:
            yield process
        finally:
            process.close()


def _anonymous(process: psutil.Process) -> int:
    """Bytes of memory that are the process's own: without pages of files, which the system takes back at will."""
    try:
        memory = process.memory_info()
    except psutil.NoSuchProcess:
        return 0
    return int(memory.rss - getattr(memory, "shared", 0))
