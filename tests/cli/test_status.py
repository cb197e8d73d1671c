"""`headrace status` of a service that is there, and cannot work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cli.helpers import Ran, headrace
from conftest import Server


def test_a_scheme_that_is_mistyped(command: Callable[..., Ran]) -> None:
    """Status and doctor wait so long for a service, and that is not what is wrong."""
    store = ("--store", "grpcs://127.0.0.1:1", "--json")
    ran = command("status", *store)
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert ran.error["message"] == "'grpcs://127.0.0.1:1' is no store"
    assert "grpc+tls://host:port" in ran.error["hint"]
    *_, last = json.loads(command("doctor", *store).out)["checks"]
    assert last["found"] == "INVALID_ARGUMENT: 'grpcs://127.0.0.1:1' is no store"


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
