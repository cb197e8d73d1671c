"""What the tunnel does for a client whose NameNodes come and go."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import pytest
from headrace_native import Tunnel

from native.wire import (
    CONTEXT,
    DROP,
    ERROR,
    FALSE,
    FATAL,
    SASL,
    SILENCE,
    SIMPLE,
    STANDBY,
    STARTING,
    TRUE,
    Answer,
    Client,
    NameNode,
    calls,
    in_turn,
    is_closed,
    thrown,
)
from servers.daemon import free_ports

pytestmark = pytest.mark.slow

Start = Callable[..., NameNode]
Open = Callable[..., Tunnel]

YES = Answer()
EXISTS = thrown("org.apache.hadoop.fs.FileAlreadyExistsException")


def unused() -> str:
    return f"127.0.0.1:{free_ports(1)[0]}"


def test_calls_and_answers_pass(namenode: Start, tunnel: Open) -> None:
    node = namenode(in_turn(YES, EXISTS))
    opened = tunnel(node)
    with Client(opened.port) as client:
        assert client.call("mkdirs") == YES
        assert client.call("create") == EXISTS
    assert node.requests[0].call == CONTEXT
    assert calls(node.requests) == [("mkdirs", 0, 0), ("create", 1, 0)]
    assert (opened.failure, opened.failure_kind, opened.secure) == (None, None, False)


def test_a_lost_answer_is_asked_for_once_more_under_the_same_ids(namenode: Start, tunnel: Open) -> None:
    node = namenode(in_turn(DROP, YES))
    opened = tunnel(node)
    with Client(opened.port) as client:
        assert client.call("rename2") == YES
    first, second = [request for request in node.requests if request.call >= 0]
    assert (first.client, first.call) == (second.client, second.call)
    assert (first.retries, second.retries) == (0, 1)
    assert [request.connection for request in node.requests if request.call == CONTEXT] == [0, 1]
    assert opened.failure is None, "what was overcome is nobody's trouble"


def test_what_was_answered_is_not_asked_again(namenode: Start, tunnel: Open) -> None:
    node = namenode(lambda request: DROP if request.method == "delete" and not request.retries else YES)
    with Client(tunnel(node).port) as client:
        assert client.call("mkdirs") == YES
        assert client.call("delete") == YES
    assert calls(node.requests) == [("mkdirs", 0, 0), ("delete", 1, 0), ("delete", 1, 1)]


def test_a_connection_lost_between_calls_is_nobodys_trouble(namenode: Start, tunnel: Open) -> None:
    node = namenode(in_turn(YES))
    opened = tunnel(node)
    with Client(opened.port) as client:
        assert client.call("mkdirs") == YES
        node.drop()
        time.sleep(0.1)
        assert client.call("mkdirs") == YES
    assert calls(node.requests) == [("mkdirs", 0, 0), ("mkdirs", 1, 0)]
    assert opened.failure is None


@pytest.mark.parametrize("auth", [SIMPLE, SASL])
def test_a_client_that_is_idle_is_let_go(namenode: Start, tunnel: Open, auth: int) -> None:
    opened = tunnel(namenode(in_turn(SILENCE)), idle_timeout=0.5, answer_timeout=1.5, outage_timeout=1.5)
    begun = time.monotonic()
    with Client(opened.port, auth) as idle:
        assert idle.is_closed()
        assert 0.4 < time.monotonic() - begun < 5
    with Client(opened.port) as waiting:
        assert waiting.call("create").status == ERROR
    assert opened.failure_kind == "timeout"


def test_a_namenode_that_is_down_for_a_while(namenode: Start, tunnel: Open) -> None:
    address = unused()
    opened = tunnel(address)
    later: list[NameNode] = []
    timer = threading.Timer(1, lambda: later.append(NameNode(in_turn(YES), port=int(address.split(":")[1]))))
    timer.start()
    with Client(opened.port) as client:
        assert client.call("getFileInfo") == YES
    timer.join()
    later[0].close()


def test_a_standby_sends_to_the_active_one_which_is_remembered(namenode: Start, tunnel: Open) -> None:
    standby, active = namenode(in_turn(thrown(STANDBY))), namenode(in_turn(YES))
    opened = tunnel(standby, active)
    for _ in range(2):
        with Client(opened.port) as client:
            assert client.call("create") == YES
    assert calls(standby.requests) == [("create", 0, 0)]
    assert calls(active.requests) == [("create", 0, 1), ("create", 0, 0)]
    assert opened.failure is None


def test_failover_during_a_call(namenode: Start, tunnel: Open) -> None:
    first, second = namenode(in_turn(YES, DROP, thrown(STANDBY))), namenode(in_turn(YES))
    with Client(tunnel(first, second).port) as client:
        assert client.call("create") == YES
        assert client.call("complete") == YES
    assert calls(second.requests) == [("complete", 1, 1)]


def test_a_namenode_that_starts_is_waited_for(namenode: Start, tunnel: Open) -> None:
    node = namenode(in_turn(thrown(STARTING), thrown(STARTING), YES))
    with Client(tunnel(node).port) as client:
        assert client.call("create") == YES
    assert calls(node.requests) == [("create", 0, 0), ("create", 0, 1), ("create", 0, 2)]


def test_one_that_never_ends_to_start_speaks_for_itself(namenode: Start, tunnel: Open) -> None:
    safe = thrown("org.apache.hadoop.hdfs.server.namenode.SafeModeException")
    with Client(tunnel(namenode(in_turn(safe)), outage_timeout=1.0).port) as client:
        assert client.call("create") == safe


def test_silence_ends(namenode: Start, tunnel: Open) -> None:
    silent, other = namenode(in_turn(SILENCE)), namenode(in_turn(YES))
    opened = tunnel(silent, other)
    begun = time.monotonic()
    with Client(opened.port) as client:
        assert client.call("create") == YES
    assert 0.9 < time.monotonic() - begun < 3
    assert calls(other.requests) == [("create", 0, 1)]
    assert opened.failure is None


def test_no_call_waits_longer_than_the_outage(namenode: Start, tunnel: Open) -> None:
    silent = namenode(in_turn(SILENCE))
    opened = tunnel(silent, unused(), connect_timeout=5.0, outage_timeout=2.5)
    begun = time.monotonic()
    with Client(opened.port) as client:
        answer = client.call("create")
        assert 2.4 < time.monotonic() - begun < 4
        assert (answer.status, answer.exception) == (ERROR, "java.io.IOException")
        assert client.error.startswith("create failed after 2.5 s: NameNode 127.0.0.1:")
    assert opened.failure is not None
    assert opened.failure.startswith("NameNode 127.0.0.1:")
    opened.forget_failure()
    assert opened.failure is None


def test_an_address_that_never_answered_is_soon_given_up(tunnel: Open) -> None:
    opened = tunnel(unused(), connect_timeout=1.0, outage_timeout=60.0)
    begun = time.monotonic()
    with Client(opened.port) as client:
        assert client.call("getFileInfo").status == ERROR
    assert 0.9 < time.monotonic() - begun < 3
    assert opened.failure_kind == "unreachable"


def test_a_name_that_nobody_knows_is_given_up_at_once(namenode: Start, tunnel: Open) -> None:
    unknown = f"{'x' * 64}.example:8020"  # no label may be as long: no server is asked
    opened, begun = tunnel(unknown, outage_timeout=60.0, connect_timeout=60.0), time.monotonic()
    for auth in (SIMPLE, SASL):
        with Client(opened.port, auth) as client:
            if auth == SIMPLE:
                assert client.call("create").status == ERROR
            else:
                assert client.socket.recv(1) == b""
        assert opened.failure_kind == "unresolved"
        assert unknown in (opened.failure or "")
    node = namenode(in_turn(YES, YES))
    with Client(tunnel(unknown, node).port) as client:
        assert client.call("create") == YES
    assert time.monotonic() - begun < 10


def test_a_file_that_is_not_complete_is_asked_for_again(namenode: Start, tunnel: Open) -> None:
    not_yet = Answer(FALSE)
    node = namenode(in_turn(not_yet, not_yet, not_yet, YES))
    with Client(tunnel(node).port) as client:
        begun = time.monotonic()
        assert client.call("complete") == YES
        assert time.monotonic() - begun < 2
    assert len(calls(node.requests)) == 4
    with Client(tunnel(namenode(in_turn(not_yet))).port) as client:
        assert client.call("mkdirs") == not_yet


def test_many_calls_at_once_in_any_order(namenode: Start, tunnel: Open) -> None:
    seen: set[int] = set()

    def behave(request: object) -> Answer | None:
        call = request.call  # type: ignore[attr-defined]
        if call % 7 == 3 and call not in seen:
            seen.add(call)
            return DROP
        return YES

    node = namenode(behave)
    with Client(tunnel(node, outage_timeout=30.0).port) as client:
        for _ in range(60):
            client.ask("getFileInfo")
        assert sorted(client.hear()[0] for _ in range(60)) == list(range(60))


def test_what_is_fatal_ends_the_connection(namenode: Start, tunnel: Open) -> None:
    fatal = Answer(b"", FATAL, "org.apache.hadoop.security.AccessControlException")
    opened = tunnel(namenode(in_turn(SILENCE, fatal)))
    with Client(opened.port) as client:
        other, last = client.ask("rename2"), client.ask("create")
        heard, answer = client.hear()
        assert (heard, answer.status) == (other, ERROR)
        assert fatal.exception in client.error
        assert client.hear() == (last, fatal)
        assert client.is_closed()
    assert opened.failure_kind == "refused"


def test_large_answers_to_a_slow_reader(namenode: Start, tunnel: Open) -> None:
    large = Answer(bytes(8 << 20))
    with Client(tunnel(namenode(in_turn(large)), answer_timeout=20.0, outage_timeout=60.0).port) as client:
        for _ in range(8):
            client.ask("getListing")
        time.sleep(0.5)
        for _ in range(8):
            assert client.hear()[1] == large


@pytest.mark.parametrize("noise", [b"GET / HTTP/1.1\r\n\r\n", b"hrpc\x09\x00\x00\xff\xff\xff\xff"])
def test_what_is_no_client_of_hdfs_is_refused(namenode: Start, tunnel: Open, noise: bytes) -> None:
    opened = tunnel(namenode(in_turn(YES)))
    with socket.create_connection(("127.0.0.1", opened.port), timeout=5) as other:
        other.sendall(noise)
        assert is_closed(other)


def test_sasl_passes_as_it_is(tunnel: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        opened = tunnel(f"127.0.0.1:{listener.getsockname()[1]}")
        with Client(opened.port, SASL) as client:
            accepted, _ = listener.accept()
            with accepted:
                client.socket.sendall(b"wrapped")
                assert _read(accepted, 14) == b"hrpc\x09\x00\xdfwrapped"
                accepted.sendall(TRUE)
                assert _read(client.socket, 3) == TRUE
                client.socket.sendall(b"more")
                assert client.is_closed()
                assert opened.failure_kind == "timeout"


def test_sasl_leaves_a_standby_for_the_next_connection(tunnel: Open) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as standby,
        socket.create_server(("127.0.0.1", 0)) as active,
    ):
        opened = tunnel(*(f"127.0.0.1:{listener.getsockname()[1]}" for listener in (standby, active)))
        with Client(opened.port, SASL) as client:
            client.socket.sendall(b"call")
            accepted, _ = standby.accept()
            with accepted:
                assert _read(accepted, 11) == b"hrpc\x09\x00\xdfcall"
                accepted.sendall(b"..." + STANDBY.encode() + b"...")
                assert client.is_closed()
        assert opened.failure_kind == "standby"
        with Client(opened.port, SASL):
            accepted, _ = active.accept()
            with accepted:
                assert _read(accepted, 7) == b"hrpc\x09\x00\xdf"


def test_a_call_that_is_slow_among_quick_ones(namenode: Start, tunnel: Open) -> None:
    node = namenode(lambda request: SILENCE if request.method == "getContentSummary" else YES)
    opened = tunnel(node, outage_timeout=2.0)
    with Client(opened.port) as client:
        slow = client.ask("getContentSummary")
        heard: list[int] = []
        while slow not in heard:
            if len(heard) < 15:
                client.ask("getFileInfo")
            heard.append(client.hear()[0])
            time.sleep(0.2)
        assert "answers other calls, and not this one" in client.error
    assert calls(node.requests).count(("getContentSummary", 0, 0)) == 1


def _read(peer: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        received += peer.recv(length - len(received))
    return received
