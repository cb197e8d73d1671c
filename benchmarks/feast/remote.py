"""All rows of a table by Feast's offline server. Runs where Headrace is not installed."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.feast.config import write_config
from benchmarks.frames import to_frame
from benchmarks.runner import Staged

if TYPE_CHECKING:
    import pandas as pd

_EVER = tuple(dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (1970, 2100))
"""The server reads nothing that is not of a stretch of time."""
_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Remote:
    """Without a join, for which Feast would be sent the keys and times of all rows first: what `materialize` reads.

    Args:
        files: Parquet files, as a glob.
    """

    files: str
    schema: pa.Schema
    _: dataclasses.KW_ONLY
    key: str
    event_time: str

    @contextlib.contextmanager
    def opened(self) -> Iterator[Staged]:
        from feast import FeatureStore, FileSource

        source = FileSource(name="rows", path=self.files, timestamp_field=self.event_time)
        with tempfile.TemporaryDirectory() as folder, _serving(Path(folder), source) as port:
            store = f"{{type: remote, host: 127.0.0.1, port: {port}}}"
            client = FeatureStore(fs_yaml_file=write_config(Path(folder), "client.yaml", store))
            features = [name for name in self.schema.names if name not in (self.key, self.event_time)]

            def read() -> pd.DataFrame:
                asked = client._get_provider().offline_store.pull_all_from_table_or_query(
                    client.config,
                    source,
                    [self.key],
                    features,
                    self.event_time,
                    start_date=_EVER[0],
                    end_date=_EVER[1],
                )
                return asked.to_df()

            yield to_frame(read, self.schema)


@contextlib.contextmanager
def _serving(folder: Path, source: object) -> Iterator[int]:
    """Its port."""
    from feast import FeatureStore

    config = write_config(folder, "feature_store.yaml", "{type: duckdb}")
    FeatureStore(fs_yaml_file=config).apply([source])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).parent / "feast", "--chdir", folder, "serve_offline"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=2)
    try:
        deadline = time.monotonic() + _SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("Feast's offline server does not start")
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        try:
            server.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
