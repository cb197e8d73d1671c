"""Buckets and containers: S3, Google Cloud Storage, Azure Blob Storage, and what speaks as they do."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from headrace.config import allows_http, has_amazon_keys
from headrace.errors import InvalidArgument
from headrace.storage.place import Place

_ENDPOINTS = (
    "aws_endpoint",
    "aws_endpoint_url",
    "azure_endpoint",
    "azure_storage_endpoint",
    "endpoint",
    "endpoint_url",
)
_ALLOWS_HTTP = ("aws_allow_http", "allow_http")
_KEYS = ("aws_access_key_id", "access_key_id", "aws_skip_signature", "skip_signature")
_WITHOUT_KEYS = (
    "AWS_ACCESS_KEY_ID is not set, so that keys are asked of this machine's role: name keys, or set "
    "AWS_SKIP_SIGNATURE=true for a bucket that is open to all"
)


def bucket(uri: str, options: Mapping[str, str]) -> Place:
    """The bucket that a URI is in; keys and endpoints come from the options, and else from the environment."""
    parts = urlsplit(uri)
    if not parts.netloc:
        raise InvalidArgument(f"{uri!r} names no bucket", hint=f"write {parts.scheme}://bucket/path")
    if ":" in parts.netloc:
        raise InvalidArgument(
            f"{uri!r} names a port, and a bucket has none", hint="AWS_ENDPOINT_URL names the server"
        )
    for key, value in options.items():
        if key.lower() in _ENDPOINTS:
            _check_endpoint(key, value, options)
    root = f"{parts.scheme}://{parts.netloc}"
    has_keys = any(key.lower() in _KEYS for key in options) or has_amazon_keys()
    return Place(root, root, dict(options), None if parts.scheme != "s3" or has_keys else _WITHOUT_KEYS)


def _check_endpoint(key: str, value: str, options: Mapping[str, str]) -> None:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or " " in value:
        raise InvalidArgument(f"{key} is no URL of a server", hint="write https://host or https://host:port")
    given = {name.lower() for name in options}
    plain = parts.scheme == "http" and key.lower().startswith("aws_")
    if plain and given.isdisjoint(_ALLOWS_HTTP) and not allows_http():
        raise InvalidArgument(
            f"{key} is a server without TLS", hint="if that is meant, set AWS_ALLOW_HTTP to true"
        )
