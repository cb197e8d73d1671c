"""ROAPI: a table of Delta behind HTTP, as a stream of Arrow."""

from __future__ import annotations

import dataclasses
import io
import sys
import sysconfig
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.frames import to_frame
from benchmarks.runner import Staged

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose servers these are

from servers.daemon import Daemon, accepts, free_ports

if TYPE_CHECKING:
    import pandas as pd

_TABLE = "rows"
_SECONDS = 3_600.0


@dataclasses.dataclass(frozen=True)
class Roapi:
    """Args:
    folder: of a table of Delta.
    in_memory: the server reads it once and keeps it, as by its default; else at each query.
    """

    folder: Path
    schema: pa.Schema
    in_memory: bool = False

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        (port,) = free_ports(1)
        address = f"127.0.0.1:{port}"
        with tempfile.TemporaryDirectory() as scratch:
            config = Path(scratch, "roapi.yml")
            config.write_text(
                f"addr:\n  http: {address}\ntables:\n  - name: {_TABLE}\n    uri: {self.folder}\n"
                f"    option:\n      format: delta\n      use_memory_table: {str(self.in_memory).lower()}\n"
            )
            program = Path(sysconfig.get_path("scripts")) / "roapi"
            server = Daemon([program, "--config", config], Path(scratch, "log"))
            server.start()
            try:
                server.wait(lambda: accepts(port))
                query = f"SELECT {', '.join(self.schema.names)} FROM {_TABLE}"

                def read() -> pd.DataFrame:
                    request = urllib.request.Request(
                        f"http://{address}/api/sql",
                        data=query.encode(),
                        headers={"Accept": "application/vnd.apache.arrow.stream"},
                    )
                    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                        found = pa.ipc.open_stream(io.BufferedReader(answer)).read_all()
                    return found.to_pandas(self_destruct=True)

                yield to_frame(read, self.schema)
            finally:
                server.kill()
