"""The parent of a service's workers: a process that has loaded what they need, so that to start one is to fork."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import struct
import sys
import traceback

import pyarrow as pa

NUMBER = struct.Struct("=i")
"""How a worker is named, how its process is, and how its end is told."""
_FILES = 3
_PR_SET_PDEATHSIG = 1
_NICE = 5
"""What users write in SQL, which may take any time, leaves processors to what the service plans itself."""


class Parent:
    """Forks a worker whenever its service asks, and tells how each ended. It has one thread, so that it may fork.

    A message of one number names a worker: with files a new one, which gets the first two of them, and whose status is
    written to the third; without files one that is to be killed. The first is answered: by the worker's process, or by
    why there is none.
    """

    def __init__(self, service: socket.socket) -> None:
        self._service = service
        self._statuses: dict[int, int] = {}
        self._pids: dict[int, int] = {}
        self._woken, self._wakes = os.pipe()

    def serve(self) -> None:
        os.set_blocking(self._wakes, False)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready = select.select([self._service.fileno(), self._woken], [], [])[0]
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._service.fileno() in ready:
                body, files, _, _ = socket.recv_fds(self._service, NUMBER.size, _FILES)
                if len(body) < NUMBER.size:
                    return
                (number,) = NUMBER.unpack(body)
                if files:
                    self._fork(number, *files)
                elif number in self._pids:
                    os.kill(self._pids[number], signal.SIGKILL)

    def _fork(self, number: int, control: int, rows: int, status: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            for given in (control, rows, status):
                os.close(given)
            self._service.send(f"no process: {error}".encode())
            return
        if not pid:
            for held in (self._woken, self._wakes, status, *self._statuses.values()):
                os.close(held)
            self._service.close()
            _work(control, rows)
        os.close(control)
        os.close(rows)
        self._pids[number], self._statuses[pid] = pid, status
        self._service.send(NUMBER.pack(pid))

    def _reap(self) -> None:
        while self._statuses:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._pids = {number: other for number, other in self._pids.items() if other != pid}
            told = self._statuses.pop(pid)
            with contextlib.suppress(BrokenPipeError):  # nobody asks for it any more
                os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(status)))
            os.close(told)


def _work(control: int, rows: int) -> None:
    """Be a worker. Does not return."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # nobody else could end it
        from headrace.service.worker.process import work

        work(control, rows)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def main() -> None:
    os.nice(_NICE)
    import headrace.service.worker.process  # noqa: F401 - for those that are forked

    pa.array([0])  # the first one loads pandas, which takes a second
    gc.collect()
    gc.freeze()  # so that collections in workers leave the memory that they share as it is
    Parent(socket.socket(fileno=int(sys.argv[1]))).serve()
    os._exit(0)  # workers end by themselves once their service is gone


if __name__ == "__main__":
    main()
