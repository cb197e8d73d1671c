"""The steps of the demo, as they are shown and counted."""

from __future__ import annotations

import contextlib
import io

from rich.console import Console

from headrace.demo.steps import Steps


def shown(*, terminal: bool) -> str:
    """What two steps that end well, and one that does not, leave on a console."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, color_system=None, _environ={"TERM": "xterm"})
    with contextlib.suppress(LookupError), Steps(console) as steps:
        with steps.step("read", rows=10) as advance:
            advance(10)
        with steps.step("write"):
            pass
        with steps.step("draw"):
            raise LookupError
    assert [(step.name, step.rows) for step in steps.done] == [("read", 10), ("write", 0)]
    return file.getvalue()


def test_a_file_gets_a_line_for_each_step_that_is_done() -> None:
    assert shown(terminal=False) == "✓ read\n✓ write\n"


def test_a_terminal_gets_progress() -> None:
    text = shown(terminal=True)
    assert all(name in text for name in ("read", "write", "draw", "100%", "━"))
