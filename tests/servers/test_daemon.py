from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from servers import daemon
from servers.daemon import Daemon, accepts, free_ports

HOLD = """
import sys, time
from pathlib import Path
from servers.daemon import Daemon
held = Daemon(["sleep", "1000"], Path(sys.argv[1]))
held.start()
print(held.pid, flush=True)
time.sleep(1000)
"""


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, tmp_path / "log"]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    assert holder.stdout is not None
    held = psutil.Process(int(holder.stdout.readline()))
    assert held.is_running()
    holder.kill()
    holder.communicate()
    held.wait(10)


def test_a_server_is_killed_frozen_and_started_again(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    serve = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    server = Daemon(serve, tmp_path / "log")
    server.start()
    server.wait(lambda: accepts(port))
    first = server.pid
    server.freeze()
    assert psutil.Process(first).status() == psutil.STATUS_STOPPED
    server.thaw()
    server.freeze()
    server.kill()
    assert not server.running
    assert not accepts(port)
    server.start()
    server.wait(lambda: accepts(port))
    assert server.pid != first
    server.stop()
    assert not server.running


def test_a_server_that_does_not_start_is_told_with_what_it_said(tmp_path: Path) -> None:
    broken = Daemon([sys.executable, "-c", "raise SystemExit('no such luck')"], tmp_path / "log")
    broken.start()
    with pytest.raises(RuntimeError, match="no such luck"):
        broken.wait(lambda: False)


def test_no_port_is_given_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = "from servers.daemon import free_ports; print(*free_ports(1), flush=True); input()"
    command = [sys.executable, "-c", ask]
    folder = Path(__file__).parents[1]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, cwd=folder) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        monkeypatch.setattr(daemon, "PORTS", range(port, port + 1))
        assert free_ports(1) == []
        other.communicate("\n")
    assert free_ports(1) == [port]
    assert free_ports(1) == []
