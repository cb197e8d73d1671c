"""How commands end: exit codes, errors for people and programs, pipes that break."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

import headrace as hr
from cli.helpers import CLEAN, Ran, headrace
from headrace.cli.app import run
from headrace.cli.target import Json
from headrace.errors import error_types

CODES = {
    "INTERNAL": 1, "CORRUPT_TABLE": 1, "MISSING_DEPENDENCY": 1, "INVALID_ARGUMENT": 2, "UNKNOWN_COLUMN": 2,
    "UNSUPPORTED": 2, "NOT_FOUND": 3, "SNAPSHOT_NOT_FOUND": 3, "UNAUTHENTICATED": 4, "PERMISSION_DENIED": 4,
    "BAD_DATA": 5, "NULL_KEYS": 5, "ALREADY_EXISTS": 6, "DEFINITION_MISMATCH": 6, "CONFLICT": 6, "BUSY": 7,
    "LIMIT_EXCEEDED": 7, "UNAVAILABLE": 8, "TIMEOUT": 8, "TLS_ERROR": 8, "OUTCOME_UNKNOWN": 8, "CANCELLED": 130,
}  # fmt: skip


def failing(error: BaseException) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def fail(json: Json = False) -> None:
        raise error

    return app


@pytest.mark.parametrize("code", CODES)
def test_each_kind_of_error_has_its_exit_code(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    (kind,) = (kind for kind in error_types() if kind.code == code)
    error = kind("what happened", hint="what to do", details={"where": "here"}, request_id="r1")
    assert run(failing(error), []) == CODES[code]
    assert capsys.readouterr() == ("", f"{code}: what happened (request r1)\nhint: what to do\n")

    assert run(failing(error), ["--json"]) == CODES[code]
    told = json.loads(capsys.readouterr().err)["error"]
    assert told.pop("details").items() >= {"where": "here"}.items()
    assert told == {"code": code, "message": "what happened", "hint": "what to do", "request_id": "r1"}


def test_a_bug_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(failing(ValueError("two\nlines")), []) == 1
    assert capsys.readouterr().err == (
        "INTERNAL: ValueError: two lines\nhint: set HEADRACE_DEBUG=1 to see where it happened\n"
    )
    monkeypatch.setenv("HEADRACE_DEBUG", "1")
    assert run(failing(KeyError("x")), []) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupted_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(KeyboardInterrupt()), ["--json"]) == 130
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "CANCELLED"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command 'bogus'."),
        (["fg", "list", "--bogus"], "No such option: --bogus"),
        (["fg", "show"], "Missing argument 'NAME'."),
        (
            ["fg", "insert", "weather", "a.csv", "--mode", "merge"],
            "Invalid value for '--mode': ",
        ),
        (["fg", "preview", "weather", "-n", "many"], "Invalid value for '-n'"),
        (["fg", "list"], "no store is named"),
        (["init", "grpc://127.0.0.1:1"], "'grpc://127.0.0.1:1' is no store"),
        (["init", "s3://bucket"], "s3://bucket needs no init"),
        (
            ["serve", "--root", "s3://bucket", "--listen", "grpc://127.0.0.1:0"],
            "a store at s3://bucket needs a registry",
        ),
        (["fg", "list", "--store", "s3://bucket"], "a store at s3://bucket needs a registry"),
        (
            ["fg", "list", "--store", "grpc://h:1", "--pems-dir", ".", "--tls-ca", "ca.pem"],
            "--pems-dir names all",
        ),
        (
            ["fg", "create", "weather", "--primary-key", "a", "--tag", "x", "--store", "here"],
            "tag 'x' is refused",
        ),
        (["registry", "upgrade"], "no registry is named"),
        (["serve", "--root", "lake"], "Missing option '--listen'."),
    ],
)
def test_a_call_that_is_wrong(
    arguments: list[str],
    message: str,
    command: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    hr.connect(tmp_path / "here").close()
    told = command(*arguments)
    assert told.code == 2
    assert told.err.startswith(f"INVALID_ARGUMENT: {message}")
    assert command(*arguments, "--json").error["message"].startswith(message)


def test_the_process_ends_with_the_code(service: str) -> None:
    missing = headrace("fg", "show", "weather@v7", "--store", service)
    assert missing.code == 3
    assert missing.err.startswith("NOT_FOUND: project default has no feature group weather@v7 (request ")


def test_nothing_is_made_of_a_name_that_is_wrong(tmp_path: Path, command: Callable[..., Ran]) -> None:
    nowhere = command("status", "--store", tmp_path / "nowhere")
    assert (nowhere.code, (tmp_path / "nowhere").exists()) == (3, False)
    assert nowhere.out.splitlines()[-1].split() == ["reachable", "no"]


def test_a_service_that_is_not_there(command: Callable[..., Ran]) -> None:
    gone = command("status", "--store", "grpc://127.0.0.1:1", "--json")
    assert gone.code == 8
    assert json.loads(gone.out)["reachable"] is False
    assert gone.error["code"] == "UNAVAILABLE"


@pytest.mark.parametrize(
    "command", ["fg preview big -n 200000 --json", "fg preview big -n 2000", "fv read all_big --output -"]
)
def test_a_broken_pipe_ends_quietly(command: str, lake: Path) -> None:
    shell = f"set -o pipefail; {sys.executable} -m headrace {command} --store {lake} | head -c 10"
    ran = subprocess.run(["bash", "-c", shell], capture_output=True, env=CLEAN, timeout=120, check=False)
    assert (ran.returncode, ran.stderr.decode()) == (0, "")
    assert len(ran.stdout) == 10
