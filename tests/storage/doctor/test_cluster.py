"""What is said of NameNodes and clusters that no test can start: these answer as they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.errors import Conflict
from headrace.storage.doctor.check import Check
from headrace.storage.doctor.cluster import Asked, check_cluster
from headrace.storage.doctor.namenode import NameNodeCheck
from headrace.storage.doctor.scratch import judge_clocks, judge_race
from native.wire import DROP, FATAL, SILENCE, STANDBY, STARTING, Answer, NameNode, thrown

DENIED = "org.apache.hadoop.security.AccessControlException"
EXISTS = "FileAlreadyExistsException"


@pytest.fixture
def asked() -> Iterator[Callable[[Answer | None], tuple[Check, str | None]]]:
    """What is said of a NameNode that answers so, and what it is taken for."""
    started: list[NameNode] = []

    def ask(answer: Answer | None) -> tuple[Check, str | None]:
        started.append(NameNode(lambda _request: answer))
        check = NameNodeCheck(started[-1].address, None, "ann", 0.5)
        port, told = check.run()
        assert port.state == "ok"
        return told, check.standing

    yield ask
    for namenode in started:
        namenode.close()


@pytest.mark.parametrize(
    ("answer", "state", "found", "standing"),
    [
        (Answer(b"\x00"), "ok", "active; takes calls of ann", "active"),
        (thrown(STANDBY), "ok", "standby, as it says", "standby"),
        (thrown(STARTING), "fail", "is starting: RetriableException", None),
        (Answer(b"", FATAL, DENIED), "fail", "does not take calls of ann without a proof", None),
        (thrown("java.io.IOException"), "fail", "refuses: IOException", None),
        (SILENCE, "fail", "gave no answer within 0.5 s", None),
        (DROP, "fail", "does not speak Hadoop's RPC: the connection was closed", None),
    ],
)
def test_answers(
    asked: Callable[[Answer | None], tuple[Check, str | None]],
    answer: Answer | None,
    state: str,
    found: str,
    standing: str | None,
) -> None:
    told, taken_for = asked(answer)
    assert (told.state, taken_for) == (state, standing)
    assert told.found.startswith(found)


@pytest.mark.parametrize(
    ("off", "state", "found"),
    [
        (0.0, "ok", "the NameNode's and this machine's agree"),
        (-4.9, "ok", "the NameNode's is 4.9 s behind"),
        (5.1, "warn", "the NameNode's is 5.1 s ahead"),
        (-61.0, "fail", "the NameNode's is 61.0 s behind"),
    ],
)
def test_clocks(off: float, state: str, found: str) -> None:
    assert (judge_clocks(off).state, judge_clocks(off).found) == (state, found)


@pytest.mark.parametrize("last", [(None, None), (EXISTS, EXISTS), (None, "IOException")])
def test_races_that_are_lost(last: tuple[str | None, str | None]) -> None:
    good = [(None, EXISTS), (EXISTS, None)]
    assert judge_race(good).found == "of two writers, one won each of 2 rounds (1 to 1)"
    with pytest.raises(Conflict, match="round 3"):
        judge_race([*good, last])


def test_kerberos_is_named_before_it_is_refused(tmp_path: Path) -> None:
    options = {"hadoop.security.authentication": "kerberos"}
    checks = check_cluster(Asked("hdfs://127.0.0.1:1/", None, options, tmp_path, "ann", 1))
    assert [(check.name, check.state) for check in checks] == [
        ("configuration", "warn"),
        ("authentication", "warn"),
        ("127.0.0.1:1 port", "fail"),
    ]
