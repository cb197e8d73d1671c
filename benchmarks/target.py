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
from typing import Literal

import headrace as hr
from benchmarks.certificate import make_certificate

_STOP_SECONDS = 10.0
_USER = "reader"


@dataclasses.dataclass(frozen=True)
class Way:
    """To a service: its address, and what `headrace.connect` is given with it."""

    url: str
    tls: hr.TLS | None = None
    token: str | None = None


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
    """`headrace serve` as a process of its own, on this machine.

    Args:
        options: of `headrace serve`.
        asks: what callers must show. Where that is something, they are granted what they read and no more, TLS is
            mutual where they show certificates, and each call is on record.
    """

    root: Path
    options: tuple[str, ...] = ()
    asks: Literal["nothing", "token", "certificate"] = "nothing"

    @contextlib.contextmanager
    def connected(self) -> Iterator[hr.FeatureStore]:
        with self.listening() as way, hr.connect(way.url, tls=way.tls, token=way.token) as store:
            yield store

    @contextlib.contextmanager
    def listening(self) -> Iterator[Way]:
        """How to connect to it."""
        command = [sys.executable, "-m", "headrace", "serve", "--root", str(self.root), "--json"]
        command += self.options
        with contextlib.ExitStack() as stack:
            tls = token = None
            if self.asks != "nothing":
                token = stack.enter_context(self._granted())
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                command += ["--audit-log", str(folder / "audit.log")]
            if self.asks == "certificate":
                cert, key = make_certificate(folder, "localhost")
                shown, secret = make_certificate(folder, _USER)
                command += ["--listen", "grpc+tls://127.0.0.1:0", f"--tls-cert={cert}", f"--tls-key={key}"]
                command += [f"--client-ca={shown}"]
                tls, token = hr.TLS(ca=cert, cert=shown, key=secret), None
            else:
                command += ["--listen", "grpc://127.0.0.1:0"]
            if self.asks == "token":
                command += ["--tokens"]
            service = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            stack.callback(_end, service)
            assert service.stdout is not None
            line = service.stdout.readline()
            if not line:
                raise RuntimeError(f"headrace serve ended with {service.wait()} before it listened")
            yield Way(json.loads(line)["listening"][0], tls, token)

    @contextlib.contextmanager
    def _granted(self) -> Iterator[str]:
        """A token of the one who reads."""
        with hr.connect(self.root) as store:
            store.grants.add(_USER, "reader")
            made = store.tokens.create(_USER, expires="1d")
        yield made.text
        with hr.connect(self.root) as store:
            store.tokens.revoke(made.id)


def _end(service: subprocess.Popen[bytes]) -> None:
    service.terminate()
    try:
        service.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait()
