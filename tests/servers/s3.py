"""A real S3 server: versitygw, which keeps objects as files in a folder.

It is small, builds in two minutes from the Go module proxy, and puts an object only if there is none (If-None-Match)
so that of all who try at once one wins, which is what Delta commits rest on: `test_object_stores` proves it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from servers.daemon import Daemon, accepts, free_ports

PROGRAM = Path(__file__).parents[2] / ".s3" / "versitygw"
REGION = "us-east-1"


class S3:
    """A server with one bucket, while it is entered; `url` is the bucket's."""

    bucket = "lake"
    url = f"s3://{bucket}"
    access_key = "headrace"
    secret_key = "headrace-secret"

    def __init__(self, folder: Path) -> None:
        if not PROGRAM.with_name(".ready").exists():
            raise RuntimeError("versitygw is not installed: make .s3/.ready installs it")
        (self.port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._objects = folder / "objects"
        self.daemon = Daemon(
            [
                *(PROGRAM, "--port", f"127.0.0.1:{self.port}", "--region", REGION),
                *("--access", self.access_key, "--secret", self.secret_key),
                *("posix", self._objects),
            ],
            folder / "s3.log",
        )

    @property
    def storage_options(self) -> dict[str, str]:
        """What deltalake needs for tables at `url`."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }

    def __enter__(self) -> Self:
        (self._objects / self.bucket).mkdir(parents=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.daemon.kill()

    def start(self) -> None:
        """Also again, after it was killed."""
        self.daemon.start()
        self.daemon.wait(lambda: accepts(self.port))
