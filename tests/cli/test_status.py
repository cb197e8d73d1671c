"""`headrace status` of a service that is there, and cannot work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cli.helpers import headrace
from conftest import Server


def test_one_that_is_not_ready(serve: Callable[..., Server], tmp_path: Path) -> None:
    root = tmp_path / "lake"
    server = serve(root, "--registry", f"sqlite:///{tmp_path / 'registry.db'}")
    root.rename(tmp_path / "elsewhere")
    ran = headrace("status", "--store", server.url, "--json")
    assert (ran.code, ran.error["code"]) == (8, "UNAVAILABLE")
    assert f"{server.url} is not ready: the storage holds no sign" in ran.error["message"]
    told = json.loads(ran.out)
    assert (told["reachable"], told["ready"]) == (True, False)
    assert told["problems"][0] in ran.error["message"]
