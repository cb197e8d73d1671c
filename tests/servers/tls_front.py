"""The mutual TLS of HopsFS, before the RPC port of a NameNode.

A process of its own, since a client under test may hold this interpreter's lock while it waits for an answer. Each
connection reads the certificates anew, so that they are replaced by writing other files.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import socket
import ssl
import sys
from pathlib import Path
from typing import Any, Literal

from servers.daemon import Daemon, accepts, free_ports
from servers.rpc import Frames, call_of_reply, call_of_request
from servers.tls_stream import TlsStream

Version = Literal["TLSv1_1", "TLSv1_2", "TLSv1_3"]


class TlsFront(Daemon):
    """Listens at `address`, and passes on what clients with a certificate of the folder's authority say.

    The folder has `ca_chain.pem`, `server_cert.pem` and `server_key.pem`.
    """

    def __init__(
        self,
        namenode: str,
        folder: Path,
        log: Path,
        *,
        minimum: Version = "TLSv1_2",
        maximum: Version = "TLSv1_3",
        port: int | None = None,
    ) -> None:
        free, self._control = free_ports(2)
        self.port = free if port is None else port
        self.address = f"127.0.0.1:{self.port}"
        told = [self.port, self._control, namenode, str(folder), minimum, maximum]
        command = [sys.executable, "-m", "servers.tls_front", json.dumps(told)]
        super().__init__(command, log, env={"PYTHONPATH": str(Path(__file__).parents[1])})

    def __enter__(self) -> TlsFront:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        super().start()
        self.wait(lambda: accepts(self._control))

    def drop(
        self, *containing: bytes, at: Literal["request", "reply"], times: int = 1, stall: bool = False
    ) -> None:
        """Break the connection at a call whose request holds all these bytes: before the NameNode has it, or once
        it has answered. With `stall`, leave the connection open, and that answer out.
        """
        self._ask(fault="call", at=at, containing=[c.hex() for c in containing], times=times, stall=stall)

    def drop_after(self, count: int, *, times: int = 1) -> None:
        """Break a connection at this byte of the answers, counted from its start."""
        self._ask(fault="bytes", count=count, times=times)

    def cut(self) -> None:
        """Break all connections that there are."""
        self._ask(fault="cut")

    def mend(self) -> None:
        """Forget what was to fail."""
        self._ask(fault="none")

    def counts(self) -> dict[str, int]:
        """How many connections were `accepted` and `refused` in the handshake, are `open`, and what was `dropped`."""
        return self._ask(fault=None)

    def _ask(self, **asked: object) -> dict[str, int]:
        with socket.create_connection(("127.0.0.1", self._control), 10) as control:
            control.sendall(json.dumps(asked).encode() + b"\n")
            answer: dict[str, int] = json.loads(control.makefile().readline())
        return answer


@dataclasses.dataclass
class _Fault:
    """What fails next, `times` times."""

    times: int
    at: str = ""
    containing: tuple[bytes, ...] = ()
    stall: bool = False
    count: int | None = None

    def meets(self, at: str, request: bytes) -> bool:
        return self.times > 0 and self.at == at and all(part in request for part in self.containing)


class _Front:
    def __init__(self, namenode: str, folder: Path, minimum: Version, maximum: Version) -> None:
        self._there = namenode.split(":")
        self._folder = folder
        self._versions = ssl.TLSVersion[minimum], ssl.TLSVersion[maximum]
        self._fault = _Fault(0)
        self._open: set[_Connection] = set()
        self._counts = dict.fromkeys(("accepted", "refused", "dropped"), 0)

    async def serve(self, port: int, control: int) -> None:
        door = await asyncio.start_server(self._connect, "127.0.0.1", port)
        await asyncio.start_server(self._control, "127.0.0.1", control)
        await door.serve_forever()

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version, context.maximum_version = self._versions
        if context.maximum_version < ssl.TLSVersion.TLSv1_2:
            context.set_ciphers(
                "DEFAULT:@SECLEVEL=0"
            )  # what is that old has only digests that are refused by now
        context.load_cert_chain(self._folder / "server_cert.pem", self._folder / "server_key.pem")
        context.load_verify_locations(self._folder / "ca_chain.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            client = TlsStream(reader, writer, self._context())
            who = await client.handshake()
        except OSError as error:
            print("refused:", repr(error), flush=True)
            self._counts["refused"] += 1
            writer.close()
            return
        print("accepted:", who, flush=True)
        self._counts["accepted"] += 1
        try:
            there = await asyncio.open_connection(*self._there)
        except OSError as error:
            print("the NameNode is away:", repr(error), flush=True)
            client.abort()
            return
        connection = _Connection(self, client, there)
        self._open.add(connection)
        try:
            await connection.run()
        finally:
            self._open.discard(connection)

    def meets(self, at: str, request: bytes) -> _Fault | None:
        fault = self._fault
        if not fault.meets(at, request):
            return None
        self._hit(fault)
        return fault

    def limit(self, passed: int, more: int) -> int | None:
        """How much of what more there is may pass, if not all."""
        fault = self._fault
        if fault.count is None or fault.times == 0 or passed + more <= fault.count:
            return None
        self._hit(fault)
        return max(fault.count - passed, 0)

    def _hit(self, fault: _Fault) -> None:
        fault.times -= 1
        self._counts["dropped"] += 1

    async def _control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if line:
            self._do(json.loads(line))
            counts = {**self._counts, "open": len(self._open)}
            writer.write(json.dumps(counts).encode() + b"\n")
        writer.close()

    def _do(self, asked: dict[str, Any]) -> None:
        match asked:
            case {"fault": "call"}:
                parts = tuple(bytes.fromhex(part) for part in asked["containing"])
                self._fault = _Fault(asked["times"], asked["at"], parts, asked["stall"])
            case {"fault": "bytes"}:
                self._fault = _Fault(asked["times"], count=asked["count"])
            case {"fault": "none"}:
                self._fault = _Fault(0)
            case {"fault": "cut"}:
                for connection in self._open:
                    connection.abort()


class _Connection:
    """One client's, and ours to the NameNode for it."""

    def __init__(
        self, front: _Front, client: TlsStream, there: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    ) -> None:
        self._front = front
        self._client = client
        self._reader, self._writer = there
        self._requests = Frames(preamble=7)
        self._replies = Frames(preamble=0)
        self._doomed: dict[int, _Fault] = {}
        self._answered = 0

    async def run(self) -> None:
        pumps = [asyncio.ensure_future(pump) for pump in (self._ask(), self._answer())]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        self.abort()
        await asyncio.gather(*pumps, return_exceptions=True)

    def abort(self) -> None:
        self._client.abort()
        self._writer.transport.abort()

    async def _ask(self) -> None:
        while more := await self._client.read():
            for frame in self._requests.add(more):
                if fault := self._front.meets("request", frame):
                    if fault.stall:
                        continue
                    return
                if fault := self._front.meets("reply", frame):
                    self._doomed[call_of_request(frame)] = fault
                self._writer.write(frame)
            await self._writer.drain()

    async def _answer(self) -> None:
        while more := await self._reader.read(1 << 16):
            for frame in self._replies.add(more):
                fault = self._doomed.pop(call_of_reply(frame), None) if self._doomed else None
                if fault is not None:
                    if fault.stall:
                        continue
                    return
                limit = self._front.limit(self._answered, len(frame))
                await self._client.write(frame[:limit])
                self._answered += len(frame)
                if limit is not None:
                    return


def _main() -> None:
    port, control, namenode, folder, minimum, maximum = json.loads(sys.argv[1])
    asyncio.run(_Front(namenode, Path(folder), minimum, maximum).serve(port, control))


if __name__ == "__main__":
    _main()
