"""A real broker of Kafka, which is its own controller."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Self

from servers.daemon import Daemon, accepts, free_ports

HOME = Path(__file__).parents[2] / ".kafka"

_JAVA = ("java", "-Xmx1g", "-cp", f"{HOME / 'jars'}/*")
_FORMAT_SECONDS = 120


class Kafka:
    """A broker, while it is entered; clients find it at `address`."""

    def __init__(self, folder: Path) -> None:
        if not (HOME / ".ready").exists():
            raise RuntimeError("Kafka is not installed: make .kafka/.ready installs it")
        self._port, controller = free_ports(2)
        self.address = f"127.0.0.1:{self._port}"
        self._folder = folder
        self._properties = folder / "server.properties"
        self._settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": folder / "logs",
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
        }
        self.daemon = Daemon([*_JAVA, "kafka.Kafka", self._properties], folder / "kafka.log")

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()))
        # Kafka wants the 16 bytes of its cluster's name as base64 of 22 characters, of which "-" may not be the first.
        name = base64.urlsafe_b64encode(b"Headrace's tests").decode().rstrip("=")
        done = subprocess.run(
            [*_JAVA, "kafka.tools.StorageTool", "format", "--cluster-id", name, "--config", self._properties],
            capture_output=True,
            text=True,
            timeout=_FORMAT_SECONDS,
        )
        if done.returncode != 0:
            raise RuntimeError(f"Kafka's folder is not made ({done.returncode}): {done.stderr[-5000:]}")
        self.daemon.start()
        self.daemon.wait(lambda: accepts(self._port))
        return self

    def __exit__(self, *_: object) -> None:
        self.daemon.kill()
