"""`headrace token`, and commands that show one to a service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

import headrace as hr
from cli.helpers import CLEAN, Ran
from conftest import start_server


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tokens") / "lake"
    hr.connect(root).close()
    return root


@pytest.fixture(scope="module")
def asking(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that asks for tokens."""
    started = start_server(root, tmp_path_factory.mktemp("tokens") / "log", "--tokens")
    yield started.url
    said = started.log.read_text()
    started.stop()
    assert said == ""


def test_make_list_revoke(command: Callable[..., Ran], root: Path) -> None:
    store = ("--store", root)
    made = command("token", "create", "anna", "--description", "laptop", *store)
    (text,) = made.lines
    said = made.err
    assert said.startswith("token ")
    assert "of anna, good until" in said
    _, own, secret = text.split("_")
    assert own in said
    head, _, *rows = command("token", "list", *store).lines
    assert head.split() == ["id", "user", "created", "good", "until", "description"]
    (row,) = (row for row in rows if own in row)
    assert row.endswith("laptop")
    listed = command("token", "list", "--json", *store)
    assert secret not in listed.out
    assert {token["id"] for token in listed.json} >= {own}
    assert command("token", "revoke", own, *store).lines == [f"token {own} is revoked"]
    again = command("token", "revoke", own, *store, "--json")
    assert (again.code, again.error["code"]) == (3, "NOT_FOUND")


def test_for_programs(command: Callable[..., Ran], root: Path) -> None:
    made = command("token", "create", "ben", "--expires", "12h", "--store", root, "--json").json
    assert made["text"].startswith(f"hr_{made['id']}_")
    assert set(made) == {"id", "user", "created", "expires", "description", "text"}
    assert command("token", "revoke", made["id"], "--store", root, "--json").json == {"revoked": made["id"]}


def test_expired_ones_are_listed_as_such(command: Callable[..., Ran], root: Path) -> None:
    made = command("token", "create", "cleo", "--expires", "1us", "--store", root, "--json").json
    (row,) = (row for row in command("token", "list", "--store", root).lines if made["id"] in row)
    assert "expired" in row


def test_commands_show_a_token(command: Callable[..., Ran], root: Path, asking: str, tmp_path: Path) -> None:
    text = command("token", "create", "anna", "--store", root, "--json").json["text"]
    listing = ("grant", "list", "--store", asking, "--json")
    bare = command(*listing)
    assert (bare.code, bare.error["code"]) == (4, "UNAUTHENTICATED")
    file = tmp_path / "token"
    file.write_text(f"{text}\n")
    assert command(*listing, "--token-file", file).json == []
    assert command(*listing, HEADRACE_TOKEN=text).json == []
    assert command(*listing, "--token-file", file, HEADRACE_TOKEN="other").json == []
    (said,) = command(*listing[:-1], "--token-file", file).lines
    assert said == "no grants to show in project default: admins see all, others their own"
    assert command("grant", "list", "--store", root).lines == [
        "nobody is granted anything in project default"
    ]
    assert command("doctor", "--store", asking, "--token-file", file, "--json").json["ok"] is True
    own = command("token", "create", "--store", asking, "--token-file", file, "--json")
    assert own.json["user"] == "anna"


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "cannot read"), (b"", "no token"), ("hr_é".encode(), "ASCII"), (b"two\nlines", "one line")],
)
def test_files_that_hold_none(
    command: Callable[..., Ran], asking: str, tmp_path: Path, content: bytes | None, told: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    ran = command("status", "--store", asking, "--token-file", file, "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert told in ran.error["message"]
    assert content is None or content.decode() in ("", "hr_é") or content.decode() not in ran.err


def test_a_token_in_the_environment_is_sent_to_no_other_machine(command: Callable[..., Ran]) -> None:
    ran = command("status", "--store", "grpc://10.0.0.1:8815", "--json", HEADRACE_TOKEN="hr_hidden")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert "hidden" not in ran.err


def test_a_folder_takes_none(command: Callable[..., Ran], root: Path, tmp_path: Path) -> None:
    assert command("token", "list", "--store", root, "--json", HEADRACE_TOKEN="hr_of_a_service").code == 0
    ran = command("token", "list", "--store", root, "--token-file", tmp_path / "token", "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")


def test_people_read_what_is_asked(root: Path) -> None:
    line = [sys.executable, "-m", "headrace", "serve", "--root", str(root), "--tokens"]
    line += ["--listen", "grpc://127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=CLEAN) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().endswith("(callers show a token)\n")
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--jwt-keys", "k.pem"], "--jwt-issuer"),
        (["--jwt-keys", "k.pem", "--jwt-issuer", "i"], "--jwt-audience"),
        (["--jwt-user-claim", "email"], "--jwt-keys"),
        (["--jwt-algorithm", "RS256"], "--jwt-keys"),
        (["--jwt-keys", "k.pem", "--jwt-issuer", "i", "--jwt-audience", "a"], "cannot read k.pem"),
        (
            ["--jwt-keys", "k", "--jwt-issuer", "i", "--jwt-audience", "a", "--jwt-algorithm", "HS256"],
            "HS256",
        ),
        (["--jwt-keys", "http://x/", "--jwt-issuer", "i", "--jwt-audience", "a"], "https"),
    ],
)
def test_half_an_issuer(command: Callable[..., Ran], tmp_path: Path, options: list[str], told: str) -> None:
    ran = command("serve", "--root", tmp_path, "--listen", "grpc://127.0.0.1:0", *options, "--json")
    assert (ran.code, ran.error["code"]) == (2, "INVALID_ARGUMENT")
    assert told in f"{ran.error['message']} {ran.error['hint']}"


def test_a_token_of_an_issuer(command: Callable[..., Ran], tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key.pem").write_bytes(key.public_key().public_bytes(*form))
    issuer = ("--jwt-keys", tmp_path / "key.pem", "--jwt-issuer", "us", "--jwt-audience", "headrace")
    claim = ("--jwt-user-claim", "email", "--jwt-algorithm", "EdDSA")
    started = start_server(tmp_path / "lake", tmp_path / "log", *map(str, issuer + claim))
    told = {"iss": "us", "aud": "headrace", "exp": 4_000_000_000, "email": "anna@x.org"}
    listing = ("token", "create", "--store", started.url, "--json")
    assert command(*listing, HEADRACE_TOKEN=jwt.encode(told, key, "EdDSA")).json["user"] == "anna@x.org"
    refused = command(*listing, HEADRACE_TOKEN=jwt.encode({**told, "aud": "x"}, key, "EdDSA"))
    assert (refused.code, refused.error["code"]) == (4, "UNAUTHENTICATED")
    started.stop()
