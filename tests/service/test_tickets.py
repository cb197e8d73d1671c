"""Tickets: whose they are, for how long, and that nobody can make one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.model.request import Prepared, ReadRequest
from headrace.protocol import ReadCommand
from headrace.service.tickets import Tickets

COMMAND = ReadCommand(
    Prepared(request=ReadRequest(kind="query"), schema_ipc=b"", features=(), labels=(), snapshots={}), 1, 3
)
TICKETS = Tickets(b"k" * 32)


@pytest.fixture(scope="module")
def ticket() -> bytes:
    return TICKETS.issue("anna", "default", COMMAND)


def test_its_bearer_has_what_it_is_for(ticket: bytes) -> None:
    assert TICKETS.take("anna", "default", ticket) == COMMAND
    assert Tickets(b"k" * 32).take("anna", "default", ticket) == COMMAND
    assert TICKETS.take(None, "default", TICKETS.issue(None, "default", COMMAND)) == COMMAND


@pytest.mark.parametrize(
    ("user", "project"),
    [("ben", "default"), (None, "default"), ("", "default"), ("anna", "other"), ('anna","default', "")],
)
def test_others_have_not(ticket: bytes, user: str | None, project: str) -> None:
    with pytest.raises(hr.Unauthenticated):
        TICKETS.take(user, project, ticket)


def test_nor_has_who_does_not_know_the_key() -> None:
    with pytest.raises(hr.Unauthenticated):
        TICKETS.take("anna", "default", Tickets(b"x" * 32).issue("anna", "default", COMMAND))


def test_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    ticket = TICKETS.issue("anna", "default", COMMAND)
    monkeypatch.setattr(time, "time", lambda: now + 800)
    assert TICKETS.take("anna", "default", ticket) == COMMAND
    monkeypatch.setattr(time, "time", lambda: now + 1_000)
    with pytest.raises(hr.Unauthenticated, match="expired"):
        TICKETS.take("anna", "default", ticket)


@given(st.data())
def test_no_byte_of_it_can_be_changed(ticket: bytes, data: st.DataObject) -> None:
    changed = bytearray(ticket)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(ticket) - 1))] ^= data.draw(st.integers(1, 255))
    cut = bytes(changed)[: data.draw(st.integers(0, len(ticket)))] + data.draw(st.binary(max_size=8))
    if cut != ticket:
        with pytest.raises(hr.Unauthenticated):
            TICKETS.take("anna", "default", cut)
