"""Ways to a lake: in the process, and through a service."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import headrace as hr
from benchmarks.certificate import make_certificate

_STOP_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Embedded:
    """Args:
    memory_limit: such as "300MB"; None is Headrace's default.
    """

    root: Path
    memory_limit: str | None = None

    def connected(self) -> AbstractContextManager[hr.FeatureStore]:
        return hr.connect(self.root, memory_limit=self.memory_limit)


@dataclasses.dataclass(frozen=True)
class Served:
    """`headrace serve` as a process of its own, on this machine."""

    root: Path
    tls: bool = False

    @contextlib.contextmanager
    def connected(self) -> Iterator[hr.FeatureStore]:
        with self.listening() as (url, trust), hr.connect(url, tls=trust) as store:
            yield store

    @contextlib.contextmanager
    def listening(self) -> Iterator[tuple[str, hr.TLS | None]]:
        """Its address, and what to trust there."""
        command = [sys.executable, "-m", "headrace", "serve", "--root", str(self.root), "--json"]
        with contextlib.ExitStack() as stack:
            trust = None
            if self.tls:
                cert, key = make_certificate(Path(stack.enter_context(tempfile.TemporaryDirectory())))
                command += ["--listen", "grpc+tls://127.0.0.1:0", f"--tls-cert={cert}", f"--tls-key={key}"]
                trust = hr.TLS(ca=cert)
            else:
                command += ["--listen", "grpc://127.0.0.1:0"]
            service = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            stack.callback(_end, service)
            assert service.stdout is not None
            line = service.stdout.readline()
            if not line:
                raise RuntimeError(f"headrace serve ended with {service.wait()} before it listened")
            yield json.loads(line)["listening"][0], trust


def _end(service: subprocess.Popen[bytes]) -> None:
    service.terminate()
    try:
        service.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait()
