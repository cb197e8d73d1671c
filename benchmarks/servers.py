"""What stands on other machines, run on this one: HDFS, HopsFS as an mTLS front before it, S3, Kafka."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import headrace as hr
from benchmarks import data
from benchmarks.process import CaseFailed
from headrace.hopsfs import storage_options

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # whose servers these are

from servers.daemon import Daemon, accepts, free_ports
from servers.hdfs import Hdfs
from servers.kafka import Kafka
from servers.pki import Pki
from servers.s3 import S3

_ROOT = Path(__file__).parent.parent
_FRONT = _ROOT / "native/target/release/examples/front"
_QUICK_START = "-XX:TieredStopAtLevel=1"


@dataclasses.dataclass(frozen=True)
class Lake:
    """A storage in which a store lies.

    Args:
        uri: of a folder.
        options: how it is reached, by the storage's own names.
        pems: a folder of certificates.
        home: a folder of this machine for what a store keeps there.
        servers: their processes.
    """

    uri: str
    home: Path
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    pems: Path | None = None
    servers: tuple[int, ...] = ()

    @contextlib.contextmanager
    def connected(self) -> Iterator[hr.FeatureStore]:
        """A new store."""
        if "://" not in self.uri:
            with hr.connect(self.uri) as store:
                yield store
            return
        self.home.mkdir(parents=True, exist_ok=True)
        os.environ["HEADRACE_WORK"] = str(self.home / "work")
        registry = f"sqlite:///{self.home / 'registry.db'}"
        with hr.connect(
            self.uri, registry=registry, storage_options=dict(self.options), tls=self._tls()
        ) as store:
            yield store

    @contextlib.contextmanager
    def through_tunnel(self) -> Iterator[tuple[str, dict[str, str]]]:
        """For programs that use deltalake itself: the folder's URI, and storage options, by Headrace's tunnel."""
        with storage_options(self.uri, tls=self._tls(), options=self.options) as found:
            path = self.uri.split("://", 1)[1].split("/", 1)[1]
            yield f"hdfs://{found['dfs.nameservices']}/{path}", found

    def _tls(self) -> hr.TLS | None:
        return None if self.pems is None else hr.TLS.from_dir(self.pems)


@dataclasses.dataclass(frozen=True)
class Lakes:
    """The same disk under all of them. `proxied` is `hdfs` behind a front as before `hopsfs`, without TLS."""

    local: Lake
    hdfs: Lake
    proxied: Lake
    hopsfs: Lake
    s3: Lake | None


class _Front(Daemon):
    """Listens at `address`, and passes on to a NameNode what it is told. With a folder of certificates it speaks mutual
    TLS, and so plays HopsFS. It costs as little as a process can that HopsFS, which speaks TLS itself, has not.
    """

    def __init__(self, namenode: str, log: Path, folder: Path | None = None) -> None:
        if not _FRONT.exists():
            raise RuntimeError(f"the front is not built: make {_FRONT.relative_to(_ROOT)} builds it")
        (self._port,) = free_ports(1)
        self.address = f"127.0.0.1:{self._port}"
        super().__init__([_FRONT, str(self._port), namenode, *([folder] if folder else [])], log)

    def __enter__(self) -> _Front:
        self.start()
        self.wait(lambda: accepts(self._port))
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class _Hdfs(Hdfs):
    """For minutes, not for seconds: Java may compile as well as it can, as it does in any cluster."""

    def java(self, program: str, *arguments: str) -> list[str]:
        return [word for word in super().java(program, *arguments) if word != _QUICK_START]


@contextlib.contextmanager
def running_lakes(*, s3: bool = False) -> Iterator[Lakes]:
    """Empty ones, each with one server: HDFS has one NameNode, one DataNode, and one copy of each block.

    Raises CaseFailed where a server is not installed or does not start.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(data.temporary("servers-"))
        try:
            hdfs = stack.enter_context(_Hdfs(folder / "hdfs"))
            pki = Pki(folder / "pki")
            plain = stack.enter_context(_Front(hdfs.namenode, folder / "plain.log"))
            front = stack.enter_context(_Front(hdfs.namenode, folder / "front.log", pki.server()))
            objects = stack.enter_context(S3(folder / "s3")) if s3 else None
        except RuntimeError as error:
            raise CaseFailed(str(error)) from None
        hadoop = (hdfs.active.pid, *(datanode.pid for datanode in hdfs.datanodes))
        yield Lakes(
            local=Lake(str(folder / "local"), folder / "at-local"),
            hdfs=Lake(f"{hdfs.url}/lake", folder / "at-hdfs", hdfs.storage_options, servers=hadoop),
            proxied=Lake(
                f"{hdfs.url}/proxied",
                folder / "at-proxied",
                {
                    key: value.replace(hdfs.namenode, plain.address)
                    for key, value in hdfs.storage_options.items()
                },
                servers=(*hadoop, plain.pid),
            ),
            hopsfs=Lake(
                f"hopsfs://{front.address}/hops",
                folder / "at-hopsfs",
                pems=pki.client(),
                servers=(*hadoop, front.pid),
            ),
            s3=objects
            and Lake(
                f"{objects.url}/lake",
                folder / "at-s3",
                objects.storage_options,
                servers=(objects.daemon.pid,),
            ),
        )


@contextlib.contextmanager
def running_kafka() -> Iterator[Kafka]:
    """A broker without topics.

    Raises CaseFailed where it is not installed or does not start.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(data.temporary("kafka-"))
        try:
            kafka = stack.enter_context(Kafka(folder))
        except RuntimeError as error:
            raise CaseFailed(str(error)) from None
        yield kafka
