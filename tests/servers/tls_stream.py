"""The server's side of TLS over a pair of asyncio streams.

That of asyncio closes a connection whose handshake fails without a word, where real servers say why.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

_LAST_WORDS_SECONDS = 1


class TlsStream:
    """What the client says and hears in the clear."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext
    ) -> None:
        self._reader, self._writer = reader, writer
        self._heard, self._told = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._heard, self._told, server_side=True)

    async def handshake(self) -> str:
        """The version, and whose certificate the client has shown. Raises OSError, once the client has been told."""
        try:
            await self._until(self._tls.do_handshake)
        except ssl.SSLError:
            # What the client has sent since must be read: else closing resets the connection, and the alert is lost.
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                self._writer.write_eof()
                await asyncio.wait_for(self._reader.read(), _LAST_WORDS_SECONDS)
            raise
        return f"{self._tls.version()} {self._tls.getpeercert()}"

    async def read(self) -> bytes:
        """Nothing at the end."""
        try:
            return await self._until(lambda: self._tls.read(1 << 16))
        except ssl.SSLError:
            return b""

    async def write(self, data: bytes) -> None:
        if data:
            self._tls.write(data)
            await self._flush()

    def abort(self) -> None:
        self._writer.transport.abort()

    async def _until(self, call: Callable[[], Result]) -> Result:
        while True:
            try:
                return call()
            except ssl.SSLWantReadError:
                await self._flush()
                self._heard.write(more) if (
                    more := await self._reader.read(1 << 16)
                ) else self._heard.write_eof()
            finally:
                await self._flush()

    async def _flush(self) -> None:
        if self._told.pending:
            self._writer.write(self._told.read())
            await self._writer.drain()
