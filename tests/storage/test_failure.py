"""What storages say, as our errors."""

from __future__ import annotations

import pytest

from headrace.errors import (
    HeadraceError,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    Unavailable,
)
from headrace.storage.failure import plain, refusal, told

S3 = """Generic S3 error
 \x1b[31m\u21b3\x1b[0m Server returned non-2xx status code 403 Forbidden
 <?xml version="1.0" encoding="UTF-8"?>
 <Error><Code>{code}</Code><Message>It does &#34;not&#34; match.</Message><StringToSign>AWS4
 2026</StringToSign></Error>"""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("SignatureDoesNotMatch", PermissionDenied),
        ("AccessDenied", PermissionDenied),
        ("NoSuchBucket", Unavailable),
        ("AuthorizationHeaderMalformed", InvalidArgument),
        ("SlowDown", Unavailable),
    ],
)
def test_errors_of_s3(code: str, kind: type[HeadraceError]) -> None:
    error = OSError(S3.format(code=code))
    assert plain(error) == (
        f'Generic S3 error Server returned non-2xx status code 403 Forbidden {code}: It does "not" match.'
    )
    refused = refusal("s3://lake", error)
    assert type(refused) is kind
    assert plain(error) in str(refused)
    assert (refused.hint is None) == (code == "SlowDown")


@pytest.mark.parametrize("between", [": ", "\n \x1b[31m\u21b3\x1b[0m "])
@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("security.AccessControlException", PermissionDenied),
        ("hdfs.protocol.DSQuotaExceededException", LimitExceeded),
        ("ipc.StandbyException", Unavailable),
    ],
)
def test_errors_of_namenodes(between: str, kind: str, meant: type[HeadraceError]) -> None:
    said = f"RPC error{between}org.apache.hadoop.{kind}\n Permission denied: user=me\n\tat org.apache.X.y(X.java:1)"
    error = OSError(said)
    assert type(refusal("hdfs://prod", error)) is meant
    assert (
        plain(error)
        == f"RPC error{':' if ':' in between else ''} org.apache.hadoop.{kind} Permission denied: user=me"
    )


def test_what_no_storage_said_is_no_refusal() -> None:
    assert refusal("hdfs://prod", ValueError("5 is no name")) is None
    assert type(refusal("s3://lake", PermissionError("403"))) is PermissionDenied


def test_a_refusal_says_more_than_that_something_was_out_of_reach() -> None:
    away, full, failed = (
        Unavailable("nn1 is not the active one"),
        LimitExceeded("full"),
        Unavailable("failed"),
    )
    assert told(away, full) is full
    assert told(away, failed) is away
    assert told(away, None) is away
    assert told(None, failed) is failed
    assert told(None, None) is None
