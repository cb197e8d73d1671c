"""Buckets and containers: S3, Google Cloud Storage, Azure Blob Storage, and what speaks as they do."""

from __future__ import annotations

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
_PREFIXES = {"s3": "AWS_", "abfss": "AZURE_", "gs": "GOOGLE_"}
# What may stand for keys, and what to do where none of it does.
_KEYS = {
    "s3": "(aws_)?(access_key_id|skip_signature)",
    "abfss": "(azure_)?(storage_)?(account_key|access_key|master_key|sas_.*|client_.*|token|skip_signature)",
    "gs": "(google_)?(service_account.*|application_credentials|skip_signature)",
}
_WITHOUT_KEYS = {
    "s3": "AWS_ACCESS_KEY_ID is not set, so that keys are asked of this machine's role: name keys, or set"
    " AWS_SKIP_SIGNATURE=true for a bucket that is open to all",
    "abfss": "AZURE_STORAGE_ACCOUNT_KEY is not set, so that a token is asked of this machine's identity: name a key",
    "gs": "GOOGLE_SERVICE_ACCOUNT is not set, so that a token is asked of this machine's identity: name its file",
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
    told = cloud_settings(_PREFIXES[parts.scheme]) if parts.scheme in _PREFIXES else {}
    settings = {**(told if is_amazon else {}), **options}
    names = {name.lower() for name in settings}
    for key, value in settings.items():
        _check(key, value, is_amazon, names.isdisjoint(_ALLOWS_HTTP))
    root = f"{parts.scheme}://{parts.netloc}"
    return Place(root, root, dict(options), _without_keys(parts.scheme, {*names, *map(str.lower, told)}))


def _without_keys(scheme: str, names: set[str]) -> str | None:
    """What to do where no keys are named, which may be meant."""
    if scheme not in _KEYS:
        return None
    if scheme == "s3" and not names.isdisjoint(_IDS) and names.isdisjoint(_SECRETS):
        return "AWS_SECRET_ACCESS_KEY is not set beside AWS_ACCESS_KEY_ID"
    return None if any(re.fullmatch(_KEYS[scheme], name) for name in names) else _WITHOUT_KEYS[scheme]


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
