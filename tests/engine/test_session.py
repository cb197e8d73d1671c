"""Sessions on an instance of DuckDB are counted while they are open."""

from __future__ import annotations

import gc
from pathlib import Path

from headrace.engine.session import Instance, Session


def test_a_session_that_nobody_closes_is_gone_with_its_connection(tmp_path: Path) -> None:
    instance = Instance({}, tmp_path, None)
    one, other = Session(instance), Session(instance)
    assert instance.sessions == 2
    one.close()
    one.close()
    assert instance.sessions == 1
    del other
    gc.collect()
    assert instance.sessions == 0
    instance.close()
