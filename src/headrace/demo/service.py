"""The service of the demo: a process of its own, ended with the block that uses it."""

from __future__ import annotations

import contextlib
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import msgspec

from headrace.errors import Unavailable

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


class _Started(msgspec.Struct):
    """The first line of a service, as far as it is wanted here."""

    listening: list[str]


@contextlib.contextmanager
def running_service(root: Path) -> Iterator[str]:
    """Serve `root` on a free port of this machine and yield the URL; end the process however the block ends.

    Its log goes to `service.log` in `root`.

    Raises:
        Unavailable: it did not start.
    """
    log = root / "service.log"
    command = [sys.executable, "-m", "headrace", "serve", "--root", str(root)]
    command += ["--listen", "grpc://127.0.0.1:0", "--json"]
    with _terminate_as_exit(), log.open("wb") as errors, contextlib.ExitStack() as ending:
        with _signals_held():
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
            ending.enter_context(process)
            ending.callback(_end, process)
        yield _url(process, log)


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    """The first line of a service says where it listens."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(_START_SECONDS) else b""
    if not line:
        process.kill()
        code = process.wait()
        said = log.read_text(errors="replace").strip()[-2000:]
        raise Unavailable(
            f"the service ended before it listened, with exit code {code}: {said}", hint=f"its log is {log}"
        )
    return msgspec.json.decode(line, type=_Started).listening[0]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


@contextlib.contextmanager
def _terminate_as_exit() -> Iterator[None]:
    """Meanwhile SIGTERM ends this process by an exception, as Ctrl-C does: it leaves no service behind."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with _handled(leave, signal.SIGTERM):
        yield


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """A signal to end is raised after the block: amid a start it would leave a process that nobody knows."""
    held: list[int] = []
    with _handled(lambda number, frame: held.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    if held:
        signal.raise_signal(held[0])


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals) -> Iterator[None]:
    """Signals are the main thread's: in another one nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
