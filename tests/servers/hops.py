"""HopsFS's own client, the `hops-deltalake` package: the independent opinion of what its servers expect.

It is a `deltalake` of another name, so it has an environment of its own, and each call a process.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[2] / ".hops"
PORT = 8020  # it knows no other

_SECONDS = 60


class HopsError(Exception):
    """What the client said."""


class HopsClient:
    """Works as the owner of the certificate in `pems`, at what listens on 127.0.0.1:8020."""

    def __init__(self, pems: Path) -> None:
        if not (HOME / ".ready").exists():
            raise RuntimeError("hops-deltalake is not installed: make .hops/.ready installs it")
        self._env = {
            **os.environ,
            "LIBHDFS_ROOT_CA_BUNDLE": str(pems / "ca_chain.pem"),
            "LIBHDFS_CLIENT_CERTIFICATE": str(pems / "client_cert.pem"),
            "LIBHDFS_CLIENT_KEY": str(pems / "client_key.pem"),
            "LIBHDFS_DEFAULT_USER": "hops",
        }

    def write(self, path: str, rows: dict[str, list[Any]], mode: str = "append") -> None:
        """Columns of whole numbers and text. Raises HopsError."""
        self._run(path, rows, mode)

    def read(self, path: str) -> dict[str, list[Any]]:
        """The columns of the table at this path. Raises HopsError."""
        found: dict[str, list[Any]] = json.loads(self._run(path, None, "append"))
        return found

    def _run(self, path: str, rows: dict[str, list[Any]] | None, mode: str) -> str:
        told = {"uri": f"hopsfs://127.0.0.1:{PORT}/{path}", "rows": rows, "mode": mode}
        done = subprocess.run(
            [HOME / "bin" / "python", Path(__file__).with_name("hops_client.py")],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            env=self._env,
            timeout=_SECONDS,
        )
        if done.returncode != 0:
            raise HopsError(done.stderr)
        return done.stdout
