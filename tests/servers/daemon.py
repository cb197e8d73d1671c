"""A server's process: it ends with the process that started it, however that ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

STOP_SECONDS = 10

# The shell becomes the server, so that its pid is the server's own. What it leaves behind reads from our pipe: a
# line lets the server be, the end of it, which comes also if the tests are killed, kills it.
KEEPER = 'exec 3<&0; (read -r _ <&3 || kill -KILL $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null'

# Below the ports that Linux gives to whoever asks for any: what a killed server listened on is still free when it
# is started again.
PORTS = range(16384, 32768)

# Each byte stands for a port: who has asked for one holds its lock to the end of its process, as a server may
# take seconds until it listens.
_ASKED = (Path(tempfile.gettempdir()) / f"headrace-ports-{os.getuid()}").open("ab")

# Those that this process has asked for: its own locks do not keep it from one.
_GIVEN: set[int] = set()


class Daemon:
    """One process, which may be killed, frozen and started again with the same command; it writes to `log`."""

    def __init__(
        self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self._command = command
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def running(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            self._let_be()
        return self._process is not None and self._process.returncode is None

    def start(self) -> None:
        assert not self.running, f"{self.log.stem} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", KEEPER, "sh", *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._env,
                start_new_session=True,
            )

    def kill(self, number: signal.Signals = signal.SIGKILL, seconds: float = STOP_SECONDS) -> None:
        """Send a signal that ends it, and wait until it has ended; after so long it must."""
        if self.running and self._process is not None:
            self._let_be()
            self._process.send_signal(number)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end, and kill it if it does not in time."""
        self.kill(signal.SIGTERM, seconds)

    def freeze(self) -> None:
        """It keeps its sockets and answers nothing, until `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + STOP_SECONDS
        while os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is None:
            if not self.running or time.monotonic() > deadline:
                raise RuntimeError(f"{self.log.stem} does not stop (running: {self.running})")
            time.sleep(0.001)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, ready: Callable[[], bool], seconds: float = 300) -> None:
        """Until it is ready, which it is not while asking raises an OSError."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            if not self.running or time.monotonic() > deadline:
                said = self.log.read_text(errors="replace")[-5000:]
                raise RuntimeError(f"{self.log.stem} is not ready (running: {self.running}): {said}")
            time.sleep(0.05)

    def _let_be(self) -> None:
        """Its pid may soon be another's: nothing may kill that."""
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(b"\n")
            self._process.stdin.close()


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on, nor any process of the tests has asked for."""
    found: list[int] = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if port in _GIVEN:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                with contextlib.suppress(BlockingIOError):
                    fcntl.lockf(_ASKED, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                    found.append(port)
                    _GIVEN.add(port)
        if len(found) == count:
            break
    return found


def accepts(port: int) -> bool:
    """Whether something listens at this port of 127.0.0.1."""
    with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
