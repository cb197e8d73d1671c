"""Buckets, as they are named and told of."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.errors import InvalidArgument
from headrace.storage.object_store import bucket
from headrace.storage.places import Places
from headrace.storage.remote_files import RemoteFiles

OPTIONS = {"AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "sesame"}


@pytest.fixture
def hurried() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("uri", ["s3://", "s3://bucket:80"])
def test_what_names_no_bucket(uri: str) -> None:
    with pytest.raises(InvalidArgument, match="bucket"):
        bucket(uri, {})


@pytest.mark.parametrize(
    "endpoint",
    ["not a url", "ftp://host", "http://", "http://me:sesame@host", "http://host:x", "http://[host"],
)
def test_what_is_no_endpoint(endpoint: str) -> None:
    with pytest.raises(InvalidArgument, match="AWS_ENDPOINT_URL is no URL") as raised:
        bucket("s3://bucket", {"AWS_ENDPOINT_URL": endpoint})
    assert "sesame" not in str(raised.value)


def test_a_server_without_tls_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    endpoint = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}
    with pytest.raises(InvalidArgument, match="AWS_ALLOW_HTTP"):
        bucket("s3://bucket", endpoint)
    bucket("s3://bucket", {**endpoint, "allow_http": "true"})
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    bucket("s3://bucket", endpoint)


def test_where_a_cloud_tells_of_itself_is_no_server_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    bucket("s3://bucket", {"AWS_METADATA_ENDPOINT": "http://169.254.169.254"})


def test_an_option_that_the_library_refuses() -> None:
    with pytest.raises(InvalidArgument, match="s3://bucket cannot be used"):
        Places({**OPTIONS, "timeout": "x"}, None, None).folder("s3://bucket/x")


def test_keys_are_not_shown() -> None:
    places = Places(OPTIONS, None, None)
    folder = places.folder("s3://bucket/x")
    assert "sesame" not in repr(folder) + repr(bucket("s3://bucket", OPTIONS))
    places.close()


@pytest.mark.usefixtures("hurried")
def test_a_bucket_is_opened_while_files_of_another_are_looked_for() -> None:
    places = Places(OPTIONS, None, None)
    for number in range(20):
        places.folder(f"s3://b{number}/x")
    over: list[bool] = []

    def look() -> int:
        count = 0
        while not over:
            places.files("s3://b19/x")
            count += 1
        return count

    with ThreadPoolExecutor(3) as threads:
        looks = [threads.submit(look) for _ in range(3)]
        for number in range(60):
            places.folder(f"s3://c{number}/x")
        over.append(True)
        assert all(look.result() for look in looks)
    places.close()


@pytest.mark.parametrize(
    "key", ["AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_REGION", "session_token", "region"]
)
def test_what_no_header_takes(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{key} holds a character") as raised:
        bucket("s3://bucket", {key: "SESAME\n"})
    assert "SESAME" not in str(raised.value)
    bucket("s3://bucket", {"GOOGLE_SERVICE_ACCOUNT_KEY": '{\n "type": "service_account"\n}'})
    if key.startswith("AWS"):
        monkeypatch.setenv(key, "SESAME\r")
        with pytest.raises(InvalidArgument, match=f"{key} holds a character"):
            bucket("s3://bucket", {})
        bucket("gs://bucket", {})


def test_the_environment_may_name_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_STS_REGIONAL_ENDPOINTS", "regional")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:sesame@host")
    with pytest.raises(InvalidArgument, match="AWS_ENDPOINT_URL is no URL") as raised:
        bucket("s3://bucket", {})
    assert "sesame" not in str(raised.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://host")
    bucket("s3://bucket", {})


@pytest.mark.parametrize(
    ("uri", "options", "hint"),
    [
        ("s3://b", {}, "AWS_ACCESS_KEY_ID is not set"),
        ("s3://b", {"aws_access_key_id": "k"}, "AWS_SECRET_ACCESS_KEY is not set"),
        ("s3://b", {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_KEY": "s"}, "AWS_SECRET_ACCESS_KEY is not set"),
        ("s3://b", {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}, None),
        ("s3://b", {"AWS_SKIP_SIGNATURE": "true"}, None),
        ("abfss://c@a.dfs.core.windows.net", {}, "AZURE_STORAGE_ACCOUNT_KEY is not set"),
        ("abfss://c@a.dfs.core.windows.net", {"azure_storage_account_key": "k"}, None),
        ("abfss://c@a.dfs.core.windows.net", {"AZURE_STORAGE_SAS_TOKEN": "t"}, None),
        ("az://c", {"azure_storage_account_name": "a"}, "AZURE_STORAGE_ACCOUNT_KEY is not set"),
        ("gs://b", {}, "GOOGLE_SERVICE_ACCOUNT is not set"),
        ("gs://b", {"GOOGLE_SERVICE_ACCOUNT": "/f.json"}, None),
    ],
)
def test_keys_that_are_not_named(
    monkeypatch: pytest.MonkeyPatch, uri: str, options: dict[str, str], hint: str | None
) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    found = bucket(uri, options).hint
    assert found is None if hint is None else found is not None and found.startswith(hint)
    for name, value in options.items():
        monkeypatch.setenv(name.upper(), value)
    assert bucket(uri, {}).hint == found


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY is not set"),
        ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID is not set"),
    ],
)
def test_half_a_pair_of_keys_is_told(monkeypatch: pytest.MonkeyPatch, given: str, hint: str) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    server = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "r"}
    with pytest.raises(InvalidArgument) as caught:
        RemoteFiles(bucket("s3://lake", {given: "k", **server}))
    assert str(caught.value.hint).startswith(hint)
