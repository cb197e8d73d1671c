"""Buckets and containers: S3, Google Cloud Storage, Azure Blob Storage, and what speaks as they do."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from headrace.errors import InvalidArgument
from headrace.storage.place import Place


def bucket(uri: str, options: Mapping[str, str]) -> Place:
    """The bucket that a URI is in; keys and endpoints come from the options, and else from the environment."""
    parts = urlsplit(uri)
    if not parts.netloc:
        raise InvalidArgument(f"{uri!r} names no bucket", hint=f"write {parts.scheme}://bucket/path")
    root = f"{parts.scheme}://{parts.netloc}"
    return Place(root, root, dict(options))
