"""Storages that stores can lie in, run for the tests, and told to Headrace by the environment alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.azurite import Azurite
from servers.hdfs import Hdfs
from servers.pki import Pki
from servers.s3 import S3
from servers.tls_front import TlsFront


@contextlib.contextmanager
def running_lake(kind: str, folder: Path) -> Iterator[str]:
    """The URI of an empty storage: hdfs, hopsfs, s3 or azure. Within, the environment says how to reach it, and where to work."""
    told = {"HEADRACE_WORK": str(folder / "work")}
    with contextlib.ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        if kind in ("s3", "azure"):
            store = stack.enter_context(S3(folder) if kind == "s3" else Azurite(folder))
            uri, told = store.url, told | store.storage_options
        else:
            hdfs = stack.enter_context(Hdfs(folder / "hdfs"))
            uri, told["HADOOP_CONF_DIR"] = hdfs.url, str(hdfs.conf)
        if kind == "hopsfs":
            pki = Pki(folder / "pki")
            front = stack.enter_context(TlsFront(hdfs.namenode, pki.server(), folder / "front.log"))
            uri, told["PEMS_DIR"] = f"hopsfs://{front.address}", str(pki.client())
        for name, value in told.items():
            environment.setenv(name, value)
        yield uri
