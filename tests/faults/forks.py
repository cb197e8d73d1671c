"""A program that forks, and says as JSON what became of it: `python -m faults.forks how place`."""

from __future__ import annotations

import json
import multiprocessing
import os
import select
import sys
from collections.abc import Callable
from typing import Any

import headrace as hr
from faults.place import Place, held, rows

ROW = rows(range(1), 0)
_SECONDS = 20


def parent(there: Place, how: str) -> dict[str, str]:
    """What the child was told of each act, how it ended, and what the parent was told afterwards."""
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        group.read().to_arrow()
        told = _forked(how, lambda: _child(there, store, group))
        told["parent"] = _code(lambda: group.insert(rows(range(1, 2), 1), mode="append"))
        assert held(group) == {(0, 0): 1, (1, 1): 1}
    return told


def importer(there: Place, how: str) -> dict[str, str]:
    """A child connects whose parent never has."""
    return _forked(how, lambda: {"connect": _code(lambda: _connected(there))})


def _child(there: Place, store: hr.FeatureStore, group: hr.FeatureGroup) -> dict[str, str]:
    return {
        "the store": _code(store.list_feature_groups),
        "a group": _code(lambda: group.read().to_arrow()),
        "connect": _code(lambda: _connected(there)),
        "connect locally": _code(lambda: hr.connect(there.work / "local").close()),
    }


def _connected(there: Place) -> None:
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        group.read().to_arrow()


def _code(act: Callable[[], Any]) -> str:
    try:
        act()
    except hr.HeadraceError as error:
        return error.code
    return "done"


def _forked(how: str, act: Callable[[], dict[str, str]]) -> dict[str, str]:
    reads, writes = os.pipe()

    def run() -> None:
        with os.fdopen(writes, "w") as out:
            json.dump(act(), out)

    if how == "multiprocessing":
        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        os.close(writes)
        told = _heard(reads)
        process.join(_SECONDS)
        ended = str(process.exitcode)
        process.kill()
    else:
        pid = os.fork()
        if not pid:
            run()
            raise SystemExit(0)  # as a program ends, with all that is done then; what it prints is nobody's
        os.close(writes)
        told = _heard(reads)
        ended = _ended(pid)
    return told | {"ended": ended}


def _heard(reads: int) -> dict[str, str]:
    ready, _, _ = select.select([reads], [], [], _SECONDS)
    with os.fdopen(reads) as source:
        return dict(json.loads(source.read() or "{}")) if ready else {"child": "hangs"}


def _ended(pid: int) -> str:
    descriptor = os.pidfd_open(pid)
    ready, _, _ = select.select([descriptor], [], [], _SECONDS)
    os.close(descriptor)
    if not ready:
        os.kill(pid, 9)
    _, status = os.waitpid(pid, 0)
    return str(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    act = {"connected": parent, "imported": importer}[sys.argv[1]]
    print(json.dumps(act(Place.from_json(sys.argv[3]), sys.argv[2])))
