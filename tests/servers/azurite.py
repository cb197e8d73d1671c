"""Azurite: Microsoft's own emulator of Azure's blob storage.

Before 3.37 it takes no notice of where a listing is to start, and deltalake then finds no third version of a table.
It writes what it holds every few seconds and when it is asked to end: a kill loses what came last.
"""

from __future__ import annotations

import base64
import datetime as dt
import hmac
import urllib.request
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

from servers.daemon import Daemon, accepts, free_ports

HOME = Path(__file__).parents[2] / ".azurite"


class Azurite:
    """A server with one container, while it is entered; `url` is the container's."""

    account = "headrace"
    container = "lake"
    url = f"abfss://{container}@{account}.dfs.core.windows.net"
    key = base64.b64encode(b"the key of an account of the tests").decode()

    def __init__(self, folder: Path) -> None:
        if not (HOME / ".ready").exists():
            raise RuntimeError("Azurite is not installed: make .azurite/.ready installs it")
        (self.port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self.port}/{self.account}"
        program = HOME / "node_modules" / ".bin" / "azurite-blob"
        self.daemon = Daemon(
            [
                *(program, "--silent", "--disableTelemetry", "--skipApiVersionCheck"),
                *("--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", folder / "blobs"),
            ],
            folder / "azurite.log",
            env={"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"},
        )

    @property
    def storage_options(self) -> dict[str, str]:
        """What deltalake needs for tables at `url`."""
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_STORAGE_ENDPOINT": self.endpoint,
            "AZURE_ALLOW_HTTP": "true",
        }

    @property
    def signature(self) -> str:
        """The query that allows a request anything, for a day."""
        end = f"{dt.datetime.now(dt.UTC) + dt.timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
        told = {"sp": "rwdlac", "ss": "b", "srt": "sco", "st": "", "se": end, "sip": "", "spr": ""}
        told["sv"] = "2018-11-09"
        text = "".join(f"{part}\n" for part in [self.account, *told.values()])
        told["sig"] = base64.b64encode(
            hmac.digest(base64.b64decode(self.key), text.encode(), "sha256")
        ).decode()
        return urlencode({name: value for name, value in told.items() if value})

    def __enter__(self) -> Self:
        self.start()
        url = f"{self.endpoint}/{self.container}?restype=container&{self.signature}"
        with urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=60):
            return self

    def __exit__(self, *_: object) -> None:
        self.daemon.kill()

    def start(self) -> None:
        """Also again, after it was stopped."""
        self.daemon.start()
        self.daemon.wait(lambda: accepts(self.port))
