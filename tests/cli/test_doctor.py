"""`headrace doctor` and `headrace registry upgrade`: what is wrong, and how it is put right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from cli.helpers import Ran, headrace
from headrace.cli.doctor import _within
from headrace.registry import migration
from headrace.registry.database import Database


def checks(ran: Ran) -> dict[str, Any]:
    return {check["name"]: check for check in json.loads(ran.out)["checks"]}


def test_all_is_well(where: str, command: Callable[..., Ran]) -> None:
    ran = command("doctor", "--json", "--store", where)
    assert ran.json["ok"] is True
    found = checks(ran)
    assert {"Python", "headrace", "duckdb", "pyarrow", "deltalake"} <= found.keys()
    last = found["service" if where.startswith("grpc") else "registry"]
    assert (last["state"], last["found"]) == ("ok", "answers; project default has 4 feature group(s)")


def test_people_see_a_table(tmp_path: Path) -> None:
    ran = headrace("doctor", "--store", tmp_path / "nowhere")
    assert ran.code == 3
    lines = [line.rstrip() for line in ran.out.splitlines()]
    assert lines[0].split() == ["check", "found", "what", "to", "do"]
    assert lines[-1].split()[:4] == ["store", "folder", "fail", "NOT_FOUND:"]
    assert lines[-1].endswith(f"headrace init {tmp_path / 'nowhere'}")


def test_a_service_and_certificates_that_are_not_there(tmp_path: Path, command: Callable[..., Ran]) -> None:
    ran = command("doctor", "--store", "grpc+tls://127.0.0.1:1", "--pems-dir", tmp_path, "--json")
    assert ran.code == 8
    found = checks(ran)
    assert found["TLS files"]["state"] == found["service"]["state"] == "fail"
    assert "ca_chain.pem" in found["TLS files"]["found"]


def test_an_old_registry_is_upgraded(tmp_path: Path, command: Callable[..., Ran]) -> None:
    root = tmp_path / "lake"
    (root / ".headrace").mkdir(parents=True)
    database = Database(f"sqlite:///{root}/.headrace/registry.db")
    with database.writing() as connection:
        migration.run(connection, "0001")
    database.close()

    ran = command("doctor", "--store", root, "--json")
    assert ran.code == 8
    assert checks(ran)["registry"]["advice"] == "headrace registry upgrade"
    assert command("registry", "upgrade", "--store", root).lines == ["the registry is at revision 0007"]
    with hr.connect(root) as fs:
        assert fs.list_feature_groups() == []
    again = command("registry", "upgrade", HEADRACE_REGISTRY=f"sqlite:///{root}/.headrace/registry.db")
    assert again.lines == ["the registry is at revision 0007"]


@pytest.mark.parametrize(
    ("version", "asked", "answer"),
    [
        ("2.0.0", "<3,>=2.0", True),
        ("1.4.2", "<3,>=2.0", False),
        ("3.0.0rc1", "<3,>=2.0", False),
        ("26.0.1", ">=24", True),
        ("0.0.3", "==0.0.3", True),
        ("9.0.0.post0", ">=9", True),
        ("1.10", ">=1.9", True),
    ],
)
def test_ranges_of_versions(version: str, asked: str, answer: bool) -> None:
    assert _within(version, asked) is answer
