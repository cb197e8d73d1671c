"""Snowflake and BigQuery, as far as they go without an account: their drivers load, and an address that lets nobody in
is told from one that does not answer.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import headrace as hr

REFUSALS = {
    "/token": (400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}),
    "/session/v1/login-request": (
        200,
        {"data": None, "code": "390100", "message": "Incorrect username or password.", "success": False},
    ),
}
"""What the two services answer to wrong keys, by the path that is asked."""


class Refusing(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, body = REFUSALS[self.path.partition("?")[0]]
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """That of a server which refuses all who sign in."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hr.FeatureStore]:
    with hr.connect(tmp_path / "lake") as opened:
        yield opened


def key(port: int) -> str:
    private = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "theirs",
            "private_key_id": "hush",
            "private_key": private.decode(),
            "client_email": "me@theirs.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"http://127.0.0.1:{port}/token",
        }
    )


def create(store: hr.FeatureStore, monkeypatch: pytest.MonkeyPatch, driver: str, uri: str) -> None:
    monkeypatch.setenv("THEIRS", uri)
    store.create_external_feature_group("g", driver=driver, uri="env:THEIRS", table="t", primary_key=["id"])


def test_snowflake_refuses(store, port, monkeypatch) -> None:
    uri = f"me:hush@127.0.0.1:{port}/db/schema?account=theirs&protocol=http"
    with pytest.raises(hr.Unauthenticated, match="feature group g") as caught:
        create(store, monkeypatch, "snowflake", uri)
    assert "hush" not in str(caught.value)


def test_bigquery_refuses(store, port, monkeypatch) -> None:
    told = key(port)
    with pytest.raises(hr.Unauthenticated, match="feature group g") as caught:
        create(store, monkeypatch, "bigquery", told)
    for secret in ("hush", json.loads(told)["private_key"].splitlines()[1]):
        assert secret not in str(caught.value)


@pytest.mark.parametrize("told", ["{", "{}", "theirs", "[]"])
def test_what_is_no_key_of_bigquery(store, monkeypatch, told) -> None:
    with pytest.raises(hr.HeadraceError, match="feature group g"):
        create(store, monkeypatch, "bigquery", told)
