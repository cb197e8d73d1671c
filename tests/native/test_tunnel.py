"""Whom the tunnel serves, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from headrace_native import Tunnel

from native.wire import SILENCE, Answer, Client, NameNode, in_turn, is_refused

pytestmark = pytest.mark.slow

Start = Callable[..., NameNode]
Open = Callable[..., Tunnel]

# Says nothing, and is gone before anybody has looked who it is.
FLOOD = """
import os, socket, sys
asked = [socket.socket() for _ in range(900)]
for each in asked:
    each.setblocking(False)
    each.connect_ex(("127.0.0.1", int(sys.argv[1])))
os._exit(0)
"""
FOREIGN = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as other:
    try:
        other.sendall(b"hrpc" + bytes([9, 0, 0]))
        print(other.recv(1))
    except ConnectionError:
        print(b"")
"""


KEEPING = """
import ctypes, socket, sys
from headrace_native import Tunnel
from native.wire import Client
tunnel = Tunnel([sys.argv[1]])
with Client(tunnel.port) as client:
    client.socket.settimeout(None)
    client.ask("mkdirs")
    # Functions of a PyDLL keep the GIL, and recv waits.
    print(ctypes.PyDLL(None).recv(client.socket.fileno(), ctypes.create_string_buffer(4), 4, socket.MSG_PEEK))
"""


def test_another_process_is_refused(namenode: Start, tunnel: Open) -> None:
    node = namenode(in_turn(Answer()))
    opened = tunnel(node)
    ran = subprocess.run(
        [sys.executable, "-c", FOREIGN, str(opened.port)],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert ran.stdout.strip() == "b''"
    assert node.openings == []
    with Client(opened.port) as client:
        assert client.call("mkdirs") == Answer()


def test_many_connections_of_others_cost_neither_files_nor_time(namenode: Start, tunnel: Open) -> None:
    opened = tunnel(namenode(in_turn(Answer())))
    before = len(os.listdir("/proc/self/fd"))
    most = 0
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", FLOOD, str(opened.port)]) as others:
            while others.poll() is None:
                most = max(most, len(os.listdir("/proc/self/fd")))
        assert others.returncode == 0
    begun = time.monotonic()
    with Client(opened.port) as client:
        assert client.call("mkdirs") == Answer()
    assert time.monotonic() - begun < 5
    assert most - before < 100


def test_a_child_is_refused_and_closes_nothing(namenode: Start, tunnel: Open) -> None:
    opened = tunnel(namenode(in_turn(Answer())))
    child = os.fork()
    if child == 0:
        refused = False
        try:
            refused = is_refused(opened.port)
            opened.close()
        finally:
            os._exit(0 if refused else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Client(opened.port) as client:
        assert client.call("mkdirs") == Answer()


def test_close_ends_what_is_open_at_once(namenode: Start, tunnel: Open) -> None:
    node = namenode(in_turn(SILENCE))
    opened = tunnel(node, answer_timeout=60.0, outage_timeout=60.0)
    with Client(opened.port) as waits, Client(opened.port) as idles:
        waits.ask("create")
        deadline = time.monotonic() + 30
        while not node.requests:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        begun = time.monotonic()
        opened.close()
        assert time.monotonic() - begun < 0.5
        assert waits.is_closed()
        assert idles.is_closed()
        assert time.monotonic() - begun < 1
    opened.close()
    with pytest.raises(ConnectionError):
        Client(opened.port)


def test_close_while_dialling(tunnel: Open) -> None:
    # An address of a network for documentation, which answers nothing.
    opened = tunnel("192.0.2.1:8020", connect_timeout=60.0, outage_timeout=60.0)
    with Client(opened.port) as client:
        client.ask("create")
        time.sleep(0.2)
        begun = time.monotonic()
        opened.close()
        assert client.is_closed()
        assert time.monotonic() - begun < 1


def test_a_tunnel_that_nobody_holds_is_closed(namenode: Start) -> None:
    opened = Tunnel([namenode(in_turn(Answer())).address])
    port = opened.port
    with Client(port) as client:
        assert client.call("mkdirs") == Answer()
        del opened
        assert client.is_closed()


def test_python_need_not_run_for_it(namenode: Start) -> None:
    """Whoever keeps the GIL while waiting for an answer still gets it."""
    ran = subprocess.run(
        [sys.executable, "-c", KEEPING, namenode(in_turn(Answer())).address],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert ran.stdout.strip() == "4"


@pytest.mark.parametrize(
    ("namenodes", "options", "says"),
    [
        ([], {}, "no NameNode"),
        (["nn1"], {}, "host:port"),
        (["nn1:8020"], {"verify": "none"}, '"full" or "chain"'),
        (["nn1:8020"], {"outage_timeout": 0.0}, "outage_timeout"),
        (["nn1:8020"], {"answer_timeout": float("nan")}, "answer_timeout"),
        (["nn1:8020"], {"cert": "a.pem"}, "belong together"),
        (["nn1:8020"], {"cert": "a.pem", "key": "b.pem"}, "no ca"),
        (["nn1:8020"], {"server_name": "nn1"}, "no ca"),
        (["nn1:8020"], {"ca": "a.pem", "server_name": "n n"}, "server_name"),
    ],
)
def test_what_makes_no_sense(namenodes: list[str], options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Tunnel(namenodes, **options)  # type: ignore[arg-type]


def test_many_tunnels_leave_no_threads(namenode: Start) -> None:
    node = namenode(in_turn(Answer()))
    before = len(os.listdir("/proc/self/task")) - threading.active_count()
    for _ in range(20):
        opened = Tunnel([node.address])
        with Client(opened.port) as client:
            assert client.call("mkdirs") == Answer()
        opened.close()
    time.sleep(0.5)
    assert len(os.listdir("/proc/self/task")) - threading.active_count() <= before + 1
