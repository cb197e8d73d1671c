"""URIs and options of storages, before anything is asked of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.config import given_uri, shown, store_config
from headrace.errors import InvalidArgument
from headrace.hopsfs import storage_options
from headrace.storage.scratch import Scratch
from headrace.tls import TLS


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("s3://bucket", "s3://bucket"),
        ("S3A://bucket/a b/", "s3://bucket/a b"),
        ("abfs://c@account.dfs.core.windows.net/x", "abfss://c@account.dfs.core.windows.net/x"),
        ("hdfs://nn:8020/a=b'%c*", "hdfs://nn:8020/a=b'%c*"),
        ("hdfs://[::1]:8020/x", "hdfs://[::1]:8020/x"),
        ("hdfs:///x", "hdfs:///x"),
        ("hdfs://", "hdfs://"),
    ],
)
def test_one_form_of_a_uri(given: str, meant: str) -> None:
    assert given_uri(given) == meant


@pytest.mark.parametrize(
    "uri",
    [
        "s3://la ke/x",
        "s3://lake?x/y",
        "s3://lake#x/y",
        "s3://[bad/x",
        "s3://\u00fc/x",
        "s3://\ud800/x",
        "s3://user@lake/x",
        "s3://lake/a:b",
        "s3://lake/a//b",
        "s3://lake/../b",
        "hdfs://nn/a b",
        "hdfs://nn/\u00fc",
        "hopsfs://nn/a{b",
    ],
)
def test_a_uri_that_means_nothing_usable(uri: str) -> None:
    with pytest.raises(InvalidArgument):
        given_uri(uri)


@pytest.mark.parametrize(
    "target", ["s3:/bucket/x", "S3A:bucket", "hopsfs:/nn/x", "grpc:/host:1", "grpc+tls:host", "file:/x"]
)
def test_a_uri_without_its_two_slashes_is_no_folder(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="two slashes") as caught:
        store_config(target)
    assert f"{target.split(':')[0]}://" in str(caught.value.hint)
    assert not any(tmp_path.iterdir())
    assert store_config(f"./{target.replace(':/', '-')}").is_local


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("s3n://AKID:SECRET@lake/x", "s3n://***@lake/x"),
        ("s3:/AKID:SECRET@lake", "s3:/***@lake"),
        ("s3://AKID:SEC/RET@lake/x y\n", "s3://***@lake/x y\n"),
        ("https://u:SECRET@h/x", "https://***@h/x"),
        ("abfss://c:SECRET@a/x", "abfss://***@a/x"),
        ("abfss://box-1@a/x?sig=SECRET", "abfss://box-1@a/x?***"),
        ("wasb://box@a/x?sig=SECRET", "wasb://box@a/x?***"),
        ("ftp://h/a@b", "ftp://***@b"),
    ],
)
def test_keys_in_a_uri_are_not_shown(target: str, told: str) -> None:
    assert shown(target) == told
    with pytest.raises(InvalidArgument) as caught:
        store_config(target, registry="sqlite:///none.db")
    assert "SECRET" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("target", ["", "  ", "file://", "file:///"])
def test_a_store_without_a_name(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=r"the store has no name"):
        store_config(target)
    assert not any(tmp_path.iterdir())


def test_what_the_library_logs_stays_its_own(tmp_path: Path) -> None:
    """Without keys and a region it looks for a cloud's own, and tells at length that there is none."""
    program = f"""
import headrace
headrace.connect("s3://bucket/x", registry="sqlite:///{tmp_path}/r.db", storage_options={{"max_retries": "0"}})
"""
    metadata = {
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1",
        "AWS_METADATA_ENDPOINT": "http://127.0.0.1:1",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "RUST_"))}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, **metadata, "HEADRACE_WORK": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Unavailable" in ran.stderr
    assert "WARN" not in ran.stderr


def test_options_are_not_shown_and_can_be_sent(tmp_path: object) -> None:
    config = store_config(str(tmp_path), storage_options={"AWS_SECRET_ACCESS_KEY": "sesame"})
    assert "sesame" not in repr(config)
    assert "sesame" not in repr(store_config(str(tmp_path), registry="postgresql://me:sesame@host/db"))
    with pytest.raises(InvalidArgument, match="'AWS_REGION' and 'aws_region'"):
        store_config(str(tmp_path), storage_options={"AWS_REGION": "a", "aws_region": "b"})
    key = {"GOOGLE_SERVICE_ACCOUNT_KEY": '{\n "type": "service_account"\n}'}
    assert dict(store_config(str(tmp_path), storage_options=key).storage_options) == key


def test_certificates_that_hdfs_would_not_use_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what was meant for HopsFS would go in the clear, and nobody would know."""
    monkeypatch.setenv("HEADRACE_WORK", str(tmp_path))
    tls = TLS("ca.pem", "cert.pem", "key.pem")
    registry = f"sqlite:///{tmp_path}/r.db"
    with pytest.raises(InvalidArgument, match="do not speak TLS"):
        store_config("hdfs://nn:8020/lake", registry=registry, tls=tls)
    with pytest.raises(InvalidArgument, match="do not speak TLS"), storage_options("hdfs://nn:8020", tls=tls):
        pass
    monkeypatch.setenv("PEMS_DIR", str(tmp_path))
    for name in ("ca_chain.pem", "client_cert.pem", "client_key.pem"):
        (tmp_path / name).touch()
    assert store_config("hdfs://nn:8020/lake", registry=registry).tls == TLS.from_dir(tmp_path)
    assert store_config("s3://bucket/lake", registry=registry, tls=tls).tls is tls


def test_what_is_kept_of_a_store_elsewhere_is_its_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_WORK", str(tmp_path))
    work = store_config("s3://bucket/lake", registry=f"sqlite:///{tmp_path}/r.db").work
    assert work.stat().st_mode & 0o777 == 0o700
    scratch = Scratch(tmp_path / "lake")
    assert scratch.path.stat().st_mode & 0o777 == 0o700
    scratch.close()
