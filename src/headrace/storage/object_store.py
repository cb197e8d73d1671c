"""Buckets and containers: S3, Google Cloud Storage, Azure Blob Storage, and what speaks as they do."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from headrace.config import cloud_settings
from headrace.errors import InvalidArgument
from headrace.storage.place import Place

_ENDPOINTS = (
    "aws_endpoint",
    "aws_endpoint_url",
    "aws_endpoint_url_s3",
    "azure_endpoint",
    "azure_storage_endpoint",
    "endpoint",
    "endpoint_url",
)
_OF_SEVERAL_LINES = ("google_service_account_key", "service_account_key")
_ALLOWS_HTTP = ("aws_allow_http", "allow_http")


@dataclasses.dataclass(frozen=True)
class _Cloud:
    """How one is told who asks.

    Args:
        prefix: of its settings in the environment.
        keys: the names of what may stand for keys, without case.
        hint: what to do where none of them is there, which may be meant.
    """

    prefix: str
    keys: re.Pattern[str]
    hint: str


_CLOUDS = {
    "s3": _Cloud(
        "AWS_",
        re.compile("(aws_)?(access_key_id|skip_signature)"),
        "AWS_ACCESS_KEY_ID is not set, so that keys are asked of this machine's role: name keys, or set "
        "AWS_SKIP_SIGNATURE=true for a bucket that is open to all",
    ),
    "abfss": _Cloud(
        "AZURE_",
        re.compile(
            "(azure_)?(storage_)?(account_key|access_key|master_key|sas_.*|client_.*|token|skip_signature)"
        ),
        "AZURE_STORAGE_ACCOUNT_KEY is not set, so that a token is asked of this machine's identity: name a key",
    ),
    "gs": _Cloud(
        "GOOGLE_",
        re.compile("(google_)?(service_account.*|application_credentials|skip_signature)"),
        "GOOGLE_SERVICE_ACCOUNT is not set, so that a token is asked of this machine's identity: name its file",
    ),
}
_IDS = ("aws_access_key_id", "access_key_id")
_SECRETS = ("aws_secret_access_key", "secret_access_key")


def bucket(uri: str, options: Mapping[str, str]) -> Place:
    """The bucket that a URI is in; keys and endpoints come from the options, and else from the environment."""
    parts = urlsplit(uri)
    if not parts.netloc:
        raise InvalidArgument(f"{uri!r} names no bucket", hint=f"write {parts.scheme}://bucket/path")
    if ":" in parts.netloc:
        raise InvalidArgument(
            f"{uri!r} names a port, and a bucket has none", hint="AWS_ENDPOINT_URL names the server"
        )
    is_amazon = parts.scheme == "s3"
    cloud = _CLOUDS.get("abfss" if parts.scheme == "az" else parts.scheme)
    told = cloud_settings(cloud.prefix) if cloud is not None else {}
    names = {name.lower() for name in (*told, *options)}
    # Of what the environment says to programs of Azure and Google much is for others, of several lines too.
    for key, value in {**(told if is_amazon else {}), **options}.items():
        _check(key, value, is_amazon, names.isdisjoint(_ALLOWS_HTTP))
    root = f"{parts.scheme}://{parts.netloc}"
    return Place(root, root, dict(options), None if cloud is None else _without_keys(cloud, names))


def _without_keys(cloud: _Cloud, names: set[str]) -> str | None:
    """What to do where keys are missing."""
    if cloud is _CLOUDS["s3"] and not names.isdisjoint(_IDS) and names.isdisjoint(_SECRETS):
        return "AWS_SECRET_ACCESS_KEY is not set beside AWS_ACCESS_KEY_ID"
    return None if any(map(cloud.keys.fullmatch, names)) else cloud.hint


def _check(key: str, value: str, is_amazon: bool, by_tls: bool) -> None:
    """Raises InvalidArgument for what the Delta library takes, and later ends in a panic with."""
    name = key.lower()
    if not value.isprintable() and name not in _OF_SEVERAL_LINES:  # it may go into a header
        raise InvalidArgument(
            f"{key} holds a character that cannot be printed",
            hint="such as the end of the line that it was read from",
        )
    if name not in _ENDPOINTS:
        return
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or " " in value:
        raise InvalidArgument(f"{key} is no URL of a server", hint="write https://host or https://host:port")
    if is_amazon and parts.scheme == "http" and by_tls:
        raise InvalidArgument(
            f"{key} is a server without TLS", hint="if that is meant, set AWS_ALLOW_HTTP to true"
        )
