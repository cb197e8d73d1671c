"""Requests signed as AWS wants them."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
from urllib.parse import quote


def signed(
    method: str, host: str, path: str, region: str, access_key: str, secret_key: str
) -> dict[str, str]:
    """The headers of an S3 request without a query, whatever its body."""
    now = f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}"
    headers = {"host": host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": now}
    names = ";".join(headers)
    lines = [f"{name}:{value}\n" for name, value in headers.items()]
    request = "\n".join([method, quote(path), "", "".join(lines), names, "UNSIGNED-PAYLOAD"])
    scope = [now[:8], region, "s3", "aws4_request"]
    text = "\n".join(["AWS4-HMAC-SHA256", now, "/".join(scope), hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{secret_key}".encode()
    for part in [*scope, text]:
        key = hmac.digest(key, part.encode(), "sha256")
    credential = "/".join([access_key, *scope])
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={key.hex()}"
    )
    return headers
