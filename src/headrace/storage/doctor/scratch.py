"""What a cluster does with files: tried in a folder of its own, which is removed."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headrace.errors import AuthError, Conflict, CorruptTable, HeadraceError, NotFound, Timeout, Unavailable
from headrace.storage.doctor.check import Check, State, failed
from headrace.storage.doctor.rpc import NameNodeRpc, NotRpc, Refused
from headrace.storage.place import Place
from headrace.storage.remote_files import RemoteFiles

_BYTES = 1 << 20
_ROUNDS = 8
_EXISTS = "FileAlreadyExistsException"
_SAME, _LATE, _WRONG = 0.1, 5.0, 60.0
"""Seconds that clocks differ: below the first they agree, beyond the others there is a warning, and a failure."""


def judge_race(rounds: Sequence[Sequence[str | None]]) -> Check:
    """Of what two writers were told in each round: None where they won. Raises Conflict."""
    for number, said in enumerate(rounds, 1):
        losses = [kind for kind in said if kind is not None]
        if losses != [_EXISTS]:
            raise Conflict(
                f"round {number} of two writers ended so: {', '.join(kind or 'won' for kind in said)}",
                hint="two writers at once are not safe here: do not use this cluster",
            )
    won = sum(first is None for first, _ in rounds)
    return Check(
        "race", "ok", f"of two writers, one won each of {len(rounds)} rounds ({won} to {len(rounds) - won})"
    )


def judge_clocks(off: float) -> Check:
    """Of the seconds by which the NameNode's is ahead of ours."""
    if abs(off) < _SAME:
        return Check("clocks", "ok", "the NameNode's and this machine's agree")
    found = f"the NameNode's is {abs(off):.1f} s {'behind' if off < 0 else 'ahead'}"
    if abs(off) <= _LATE:
        return Check("clocks", "ok", found)
    state: State = "warn" if abs(off) <= _WRONG else "fail"
    return Check("clocks", state, found, "times of commits mislead: set both clocks by NTP", 1)


class Scratch:
    """A folder that is there while `run` goes on.

    Args:
        place: the cluster.
        base: the folder in it to make that one in.
        user: as whom NameNodes are called.
        seconds: for each step.
    """

    def __init__(self, place: Place, base: str, user: str, seconds: float) -> None:
        self._place = place
        self._base = base.rstrip("/") or "/"
        self._folder = f"{base.rstrip('/')}/.headrace-doctor-{secrets.token_hex(6)}"
        self._user = user
        self._seconds = seconds
        self._files: RemoteFiles | None = None

    def connect(self) -> None:
        """Whether a call goes through. Raises Refused, NotRpc, OSError."""
        with self._rpc() as rpc:
            rpc.status("/")

    def run(self) -> Iterator[Check]:
        made = False
        try:
            with self._rpc() as rpc:
                if rpc.status(self._base) is None:
                    yield failed(
                        "folder",
                        NotFound(f"there is no {self._base}"),
                        f"hdfs dfs -mkdir -p {self._base}, or name a folder that is there",
                    )
                    return
                made = True
                rpc.make_folder(self._folder)
                status = rpc.status(self._folder)
                yield self._owned(status.owner if status else "nobody")
                yield self._encryption(rpc)
                if self._place.shown.startswith("hopsfs:"):
                    yield self._tried("small files", lambda: self._policy(rpc))
            yield self._tried("data", self._data)
            yield self._tried("rename", self._rename)
            yield self._tried("race", self._race)
            yield self._tried("repeated call", self._repeated)
            yield self._tried("clocks", self._clocks)
        except Refused as refusal:
            advice = f"{self._user} has to be allowed to write in {self._base}"
            yield Check("folder", "fail", f"{self._base}: {refusal}", advice, AuthError.exit_code)
        except (NotRpc, OSError) as error:
            yield failed("folder", self._lost(error))
        finally:
            left = self._remove() if made else None
        if left is not None:
            yield Check("clean-up", "fail", left, f"hdfs dfs -rm -r {self._folder}", Unavailable.exit_code)
        elif made:
            yield Check("clean-up", "ok", f"{self._folder} is removed")

    def _owned(self, owner: str) -> Check:
        name = "folder"
        if owner == self._user:
            return Check(name, "ok", f"{self._base} can be written to; what is made belongs to {owner}")
        found = f"{self._base} can be written to; what {self._user} makes belongs to {owner}"
        return Check(name, "warn", found, "the cluster takes the caller for another user")

    def _encryption(self, rpc: NameNodeRpc) -> Check:
        name = "data encryption"
        if rpc.encrypts_data():
            return Check(name, "ok", "what goes to DataNodes is encrypted (dfs.encrypt.data.transfer)")
        advice = "TLS is for metadata alone: dfs.encrypt.data.transfer in the cluster encrypts rows"
        return Check(
            name, "ok", "what goes to DataNodes is not encrypted (dfs.encrypt.data.transfer)", advice
        )

    def _policy(self, rpc: NameNodeRpc) -> Check:
        """HopsFS can keep small files, such as the entries of Delta's log, where only its own clients look."""
        policy = rpc.policy(self._folder)
        if policy != "DB":
            return Check("small files", "ok", f"lie on DataNodes, as others do (storage policy {policy})")
        return Check(
            "small files",
            "warn",
            "those that clients of HopsFS write here are kept in its database (storage policy DB)",
            f"it is not known that Headrace can read them: hdfs storagepolicies -setStoragePolicy -path {self._base} "
            "-policy HOT, before others write tables here",
        )

    def _data(self) -> Check:
        data = os.urandom(_BYTES)
        begun = time.monotonic()
        self._put("data", data)
        wrote = time.monotonic() - begun
        came = self._within(lambda: self._remote.read(self._uri("data")))
        if came != data:
            raise CorruptTable(f"of {len(data)} bytes written, {len(came)} came back, and not the same")
        took = time.monotonic() - begun - wrote
        return Check(
            "data", "ok", f"1 MiB came back as it was written: written in {wrote:.2f} s, read in {took:.2f} s"
        )

    def _rename(self) -> Check:
        self._put("here", b"")
        self._put("there", b"")
        with self._rpc() as rpc:
            try:
                rpc.rename(self._path("here"), self._path("there"))
            except Refused as refusal:
                if refusal.kind == _EXISTS:
                    return Check("rename", "ok", f"onto a file that is there is refused ({_EXISTS})")
                raise Conflict(
                    f"onto a file that is there fails with {refusal}, where Delta knows {_EXISTS} alone",
                    hint="commits that lose would look like failures: two writers at once are not safe here",
                ) from None
        raise Conflict(
            "onto a file that is there was not refused",
            hint="two writers at once would overwrite each other's commits: do not use this cluster",
        )

    def _race(self) -> Check:
        """Two writers, each with a file of its own, rename them to one name, at once."""
        for number in range(_ROUNDS):
            self._put(f"{number}-a", b"")
            self._put(f"{number}-b", b"")
        together = threading.Barrier(2, timeout=self._seconds)
        results: dict[str, list[str | None]] = {"a": [], "b": []}

        def run(who: str) -> None:
            with self._rpc() as rpc:
                for number in range(_ROUNDS):
                    together.wait()
                    results[who].append(
                        _attempt(rpc, self._path(f"{number}-{who}"), self._path(f"{number}-won"))
                    )

        other = threading.Thread(target=_quietly, args=(run, "b"), daemon=True)
        other.start()
        with contextlib.suppress(threading.BrokenBarrierError):
            run("a")
        other.join(self._seconds)
        if min(map(len, results.values())) < _ROUNDS:
            raise Timeout(f"the race was not over within {self._seconds:g} s")
        return judge_race(list(zip(results["a"], results["b"], strict=True)))

    def _repeated(self) -> Check:
        """The tunnel asks again what a NameNode took with it as it went."""
        self._put("once", b"")
        client = secrets.token_bytes(16)
        for _ in range(2):
            with self._rpc(client) as rpc:
                try:
                    rpc.rename(self._path("once"), self._path("twice"))
                except Refused as refusal:
                    raise Conflict(
                        f"a rename that was asked for twice under the same ids was made twice: {refusal}",
                        hint="is dfs.namenode.enable.retrycache false? A commit whose answer is lost looks failed",
                    ) from None
        return Check(
            "repeated call", "ok", "a rename that is asked for twice under the same ids is made once"
        )

    def _clocks(self) -> Check:
        before = time.time()
        self._put("clock", b"")
        after = time.time()
        with self._rpc() as rpc:
            status = rpc.status(self._path("clock"))
        changed = status.changed if status else before
        return judge_clocks(min(changed - before, 0) or max(changed - after, 0))

    @contextlib.contextmanager
    def _rpc(self, client: bytes | None = None) -> Iterator[NameNodeRpc]:
        """A connection through the tunnel."""
        address = next(at for key, at in self._place.options.items() if key.endswith(".tunnel"))
        host, _, port = address.rpartition(":")
        # The tunnel gives up in time, and says why: what waits here must not be sooner.
        with socket.create_connection((host, int(port)), self._seconds + 5) as connection:
            yield NameNodeRpc(connection, self._user, client)

    @property
    def _remote(self) -> RemoteFiles:
        if self._files is None:
            self._files = RemoteFiles(self._place)
        return self._files

    def _put(self, name: str, data: bytes) -> None:
        def write() -> None:
            with tempfile.NamedTemporaryFile() as file:
                file.write(data)
                file.flush()
                self._remote.put(Path(file.name), self._uri(name))

        self._within(write)

    def _within(self, call: Callable[[], Any]) -> Any:
        """What the Delta library does knows no end where DataNodes do not answer. Raises HeadraceError."""
        done: list[Any] = []
        raised: list[Exception] = []

        def run() -> None:
            try:
                done.append(call())
            except Exception as error:
                raised.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self._seconds)
        if raised:
            raise raised[0]
        if not done:
            raise self._place.trouble() or Timeout(
                f"not over within {self._seconds:g} s",
                hint="the DataNodes that the NameNode names must be reached from here, by their names and ports",
            )
        return done[0]

    def _tried(self, name: str, step: Callable[[], Check]) -> Check:
        try:
            return step()
        except HeadraceError as error:
            return failed(name, error)
        except Refused as refusal:
            return Check(name, "fail", str(refusal), None, AuthError.exit_code)
        except (NotRpc, OSError) as error:
            return failed(name, self._lost(error))

    def _lost(self, error: Exception) -> HeadraceError:
        return self._place.trouble() or Unavailable(f"{self._place.shown} failed: {error}")

    def _remove(self) -> str | None:
        """What is left behind, and why; None if nothing is."""
        try:
            with self._rpc() as rpc:
                rpc.remove(self._folder)
        except (Refused, NotRpc, OSError) as error:
            return f"{self._folder} may be left: {error}"
        return None

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _uri(self, name: str) -> str:
        return f"{self._place.uri}{self._path(name)}"


def _attempt(rpc: NameNodeRpc, path: str, to: str) -> str | None:
    """Why a rename failed."""
    try:
        rpc.rename(path, to)
    except Refused as refusal:
        return refusal.kind
    return None


def _quietly(call: Callable[[str], None], who: str) -> None:
    """What it lacks at the end is told there."""
    with contextlib.suppress(threading.BrokenBarrierError, Refused, NotRpc, OSError):
        call(who)
