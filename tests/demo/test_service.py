"""The service of the demo ends with the block that uses it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headrace.demo.service import running_service


@pytest.fixture(autouse=True)
def none_left_behind(tmp_path: Path) -> Iterator[None]:
    yield
    for service in services(tmp_path):
        service.kill()


def services(root: Path) -> list[psutil.Process]:
    """Those of this folder: other tests have services, too."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has ended
            if {"serve", str(root)} <= set(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.parametrize(
    ("number", "ending"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_amid_its_start_ends_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    ending: type[BaseException],
) -> None:
    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            signal.raise_signal(number)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.getsignal(number)
    with pytest.raises(ending), running_service(tmp_path):
        pytest.fail("the block was entered")
    assert services(tmp_path) == []
    assert signal.getsignal(number) == before


def test_the_handlers_of_the_caller_are_restored(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with running_service(tmp_path) as url:
        assert url.startswith("grpc://127.0.0.1:")
        assert len(services(tmp_path)) == 1
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert services(tmp_path) == []
