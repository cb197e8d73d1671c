"""What nobody wants any more is stopped, whatever becomes of the stopping of something else."""

from __future__ import annotations

import threading

import pytest

from headrace.service.watch import Watch


def test_one_that_cannot_be_stopped_hinders_no_others(caplog: pytest.LogCaptureFixture) -> None:
    watch, tried, stopped = Watch(), threading.Event(), threading.Event()

    def failing() -> None:
        tried.set()
        raise RuntimeError("can't start new thread")

    with watch.over(lambda: True, failing):
        assert tried.wait(10)
        tried.clear()
        with watch.over(lambda: True, stopped.set):
            assert stopped.wait(10)
        assert tried.wait(10)  # and is tried again
    watch.close()
    assert "could not be stopped" in caplog.text
