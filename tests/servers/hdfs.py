"""Real HDFS: NameNodes and DataNodes of Hadoop, started without its scripts."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from xml.sax.saxutils import escape

from servers.daemon import Daemon, accepts, free_ports

HOME = Path(__file__).parents[2] / ".hadoop"
NAMESERVICE = "test"

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_HA_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"
_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"

# The first compiler alone and the simplest collector: these processes live for seconds, beside many others.
_JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

_LOG = """\
log4j.rootLogger=INFO, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""

_DEFAULTS = {
    "fs.defaultFS": f"hdfs://{NAMESERVICE}",
    "dfs.nameservices": NAMESERVICE,
    f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
        "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    ),
    "dfs.replication": 1,
    "dfs.permissions.enabled": False,
    # What fails is noticed within seconds: a DataNode is dead after twice the recheck and ten heartbeats.
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.safemode.extension": 0,
    "dfs.namenode.redundancy.interval.seconds": 1,
    # A DataNode is started before its NameNode listens, and asks again at once.
    "ipc.client.connect.max.retries": 600,
    "ipc.client.connect.retry.interval": 100,
    "dfs.namenode.datanode.registration.ip-hostname-check": False,
    "dfs.datanode.hostname": "localhost",
    # There is nothing to fence: `failover` is told by the one who knows what the other NameNode does.
    "dfs.ha.fencing.methods": "shell(/bin/true)",
    "dfs.ha.tail-edits.period": 1,
    "ha.failover-controller.graceful-fence.rpc-timeout.ms": 1000,
    "ha.failover-controller.graceful-fence.connection.retries": 0,
}


_PROGRAM_SECONDS = 300


class NameNode(Daemon):
    """Its RPC is at `address`."""

    def __init__(self, cluster: Hdfs, name: str) -> None:
        self.name = name
        self.port, self._web = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self.data = cluster.folder / name
        self.settings = {
            f"dfs.namenode.rpc-address.{NAMESERVICE}.{name}": self.address,
            f"dfs.namenode.http-address.{NAMESERVICE}.{name}": f"127.0.0.1:{self._web}",
            f"dfs.namenode.name.dir.{NAMESERVICE}.{name}": self.data.as_uri(),
        }
        super().__init__(
            cluster.java(_NAMENODE, f"-Ddfs.ha.namenode.id={name}"), cluster.folder / f"{name}.log"
        )

    def serves(self, datanodes: int, state: str) -> bool:
        """Whether it is so far, with so many DataNodes, and out of safe mode."""
        bean = self._bean("FSNamesystemState")
        if bean["FSState"] != "Operational" or bean["NumLiveDataNodes"] < datanodes:
            return False
        return bool(self._bean("NameNodeStatus")["State"] == state)

    @property
    def room(self) -> int:
        """The bytes that the DataNodes have left, by what they said last."""
        return int(self._bean("FSNamesystemState")["CapacityRemaining"])

    def _bean(self, name: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self._web}/jmx?qry=Hadoop:service=NameNode,name={name}"
        with urllib.request.urlopen(url, timeout=5) as answer:
            beans = json.load(answer)["beans"]
        if not beans:
            raise ConnectionError(f"{self.name} knows no {name} yet")
        return dict(beans[0])


class DataNode(Daemon):
    """Its blocks are in the folder `data`."""

    def __init__(self, cluster: Hdfs, number: int) -> None:
        name = f"dn{number}"
        self.data = cluster.folder / name
        self._port, web, ipc = free_ports(3)
        command = cluster.java(
            _DATANODE,
            f"-Ddfs.datanode.data.dir={self.data.as_uri()}",
            f"-Ddfs.datanode.address=127.0.0.1:{self._port}",
            f"-Ddfs.datanode.http.address=127.0.0.1:{web}",
            f"-Ddfs.datanode.ipc.address=127.0.0.1:{ipc}",
        )
        super().__init__(command, cluster.folder / f"{name}.log")

    def serves(self) -> bool:
        return accepts(self._port)


class Hdfs:
    """A cluster while it is entered: `with Hdfs(folder) as hdfs: DeltaTable(f"{hdfs.url}/t", …)`.

    `settings` are Hadoop's own keys. With two NameNodes, these share a folder of edits, and `failover` changes who
    is active; the one that was must be dead or well, since a folder cannot lock out a writer that was frozen.
    """

    _archive = "SharedArchiveFile"

    def __init__(self, folder: Path, datanodes: int = 1, namenodes: int = 1, **settings: object) -> None:
        if not (HOME / ".ready").exists():
            raise RuntimeError("Hadoop is not installed: make .hadoop/.ready installs it")
        self.folder = folder
        self.conf = folder / "conf"
        self.url = f"hdfs://{NAMESERVICE}"
        self.namenodes = [NameNode(self, f"nn{number}") for number in range(1, namenodes + 1)]
        self.active = self.namenodes[0]
        self.datanodes = [DataNode(self, number) for number in range(1, datanodes + 1)]
        self._settings = {**_DEFAULTS, **settings}
        self._settings[f"dfs.ha.namenodes.{NAMESERVICE}"] = ",".join(node.name for node in self.namenodes)
        for node in self.namenodes:
            self._settings |= node.settings
        if namenodes > 1:
            self._settings["dfs.namenode.shared.edits.dir"] = (folder / "edits").as_uri()

    @property
    def namenode(self) -> str:
        """The address of the active NameNode's RPC."""
        return self.active.address

    @property
    def storage_options(self) -> dict[str, str]:
        """What deltalake needs for tables at `url`."""
        addresses = {
            f"dfs.namenode.rpc-address.{NAMESERVICE}.{node.name}": node.address for node in self.namenodes
        }
        names = ",".join(node.name for node in self.namenodes)
        return {"dfs.nameservices": NAMESERVICE, f"dfs.ha.namenodes.{NAMESERVICE}": names, **addresses}

    def __enter__(self) -> Self:
        try:
            self._write_conf()
            for datanode in self.datanodes:
                datanode.start()
            self._format()
            for namenode in self.namenodes:
                namenode.start()
            if len(self.namenodes) > 1:
                for namenode in self.namenodes:
                    namenode.wait(partial(namenode.serves, 0, "standby"))
                self._run(_HA_ADMIN, "-transitionToActive", self.active.name)
            self.wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def wait(self) -> None:
        """Until the NameNodes that run know all DataNodes that run, and the active one serves."""
        datanodes = 0
        for datanode in self.datanodes:
            if datanode.running:
                datanode.wait(datanode.serves)  # the NameNodes do not notice soon that it was away
                datanodes += 1
        for node in self.namenodes:
            if node.running:
                state = "active" if node is self.active else "standby"
                node.wait(partial(node.serves, datanodes, state))

    def failover(self) -> None:
        """Make the other NameNode the active one, whether or not the one that is still runs."""
        (other,) = (node for node in self.namenodes if node is not self.active)
        self._run(_HA_ADMIN, "-failover", self.active.name, other.name)
        self.active = other

    def java(self, program: str, *arguments: str) -> list[str]:
        """The command for one of Hadoop's programs, with this cluster's configuration.

        Java takes what it has learned only for a classpath that begins as then: the jars come first.
        """
        archive = HOME / f"{program.rpartition('.')[2]}.jsa"
        classpath = f"{HOME / 'jars'}/*:{HOME / 'classes'}:{self.conf}"
        return [*_JAVA, f"-XX:{self._archive}={archive}", "-cp", classpath, program, *arguments]

    def admin(self, *arguments: str) -> None:
        """What `hdfs dfsadmin` does."""
        self._run(_ADMIN, *arguments)

    def configure(self, settings: Mapping[str, object]) -> None:
        """More settings, for what is started from now on."""
        self._settings |= settings
        self._write_conf()

    def _write_conf(self) -> None:
        self.conf.mkdir(parents=True, exist_ok=True)
        properties = "".join(
            f"  <property><name>{escape(key)}</name><value>{escape(_text(value))}</value></property>\n"
            for key, value in self._settings.items()
        )
        for name in ("core-site.xml", "hdfs-site.xml"):
            (self.conf / name).write_text(f"<configuration>\n{properties}</configuration>\n")
        (self.conf / "log4j.properties").write_text(_LOG)

    def _format(self) -> None:
        first, *others = self.namenodes
        self._run(_NAMENODE, f"-Ddfs.ha.namenode.id={first.name}", "-format", "-force", "-nonInteractive")
        for other in others:
            shutil.copytree(first.data, other.data)

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(self.java(*arguments), capture_output=True, text=True, timeout=_PROGRAM_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-5000:]}")

    def _end(self) -> None:
        """Their files go with the folder: nothing needs to be put in order."""
        for daemon in [*self.datanodes, *self.namenodes]:
            daemon.kill()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Learning(Hdfs):
    _archive = "ArchiveClassesAtExit"


def learn() -> None:
    """Keep what Java makes of the classes it loads: the programs of later clusters start in half the time."""
    with tempfile.TemporaryDirectory() as folder, _Learning(Path(folder) / "hdfs", namenodes=2) as cluster:
        for daemon in [*cluster.datanodes, *cluster.namenodes]:
            daemon.stop(seconds=120)


if __name__ == "__main__":
    learn()
