"""NameNodes and tunnels, closed after each test."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from headrace_native import Tunnel

from native.wire import Behaviour, NameNode


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def namenode(stack: contextlib.ExitStack) -> Callable[..., NameNode]:
    def start(behave: Behaviour, context: ssl.SSLContext | None = None) -> NameNode:
        started = NameNode(behave, context)
        stack.callback(started.close)
        return started

    return start


@pytest.fixture
def tunnel(stack: contextlib.ExitStack) -> Callable[..., Tunnel]:
    """`tunnel(*namenodes, **options)`, with less patience than by default."""

    def open_tunnel(*namenodes: NameNode | str, **options: Any) -> Tunnel:
        patience = {"connect_timeout": 2.0, "answer_timeout": 1.0, "outage_timeout": 4.0}
        addresses = [getattr(each, "address", each) for each in namenodes]
        opened = Tunnel(addresses, **(patience | options))
        stack.callback(opened.close)
        return opened

    return open_tunnel
