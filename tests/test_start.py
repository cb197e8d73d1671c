"""What is loaded when: nobody waits for a library that their call does not use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import Server

SERVICE_SIDE = {"alembic", "deltalake", "duckdb", "sqlalchemy"}
ARROW = {"numpy", "pandas", "pyarrow"}
PARSERS = {"sqlglot"}


def loaded(*arguments: str) -> set[str]:
    """The packages that a process of Python imports."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    modules = [line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()]
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import headrace"],
        ["-c", "import headrace; headrace.NotFound, headrace.TLS, dir(headrace)"],
        ["-m", "headrace", "--help"],
        ["-m", "headrace", "fg", "insert", "--help"],
        ["-m", "headrace", "doctor"],
    ],
)
def test_what_touches_no_data_loads_no_arrow(arguments: list[str]) -> None:
    found = loaded(*arguments)
    assert "headrace" in found
    assert found.isdisjoint(SERVICE_SIDE | ARROW)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import sys, headrace as hr; hr.connect(sys.argv[1]).list_feature_groups()"],
        ["-m", "headrace", "fg", "list", "--store"],
    ],
)
def test_a_client_loads_nothing_of_the_service(arguments: list[str], server: Server) -> None:
    found = loaded(*arguments, server.url)
    assert "pyarrow" in found
    assert found.isdisjoint(SERVICE_SIDE | PARSERS)
