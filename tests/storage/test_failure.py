"""What storages say, as our errors."""

from __future__ import annotations

import errno

import pytest

from headrace.storage.failure import error_number, plain

S3 = """Generic S3 error
 \x1b[31m\u21b3\x1b[0m Server returned non-2xx status code 403 Forbidden
 <?xml version="1.0" encoding="UTF-8"?>
 <Error><Code>{code}</Code><Message>The signature does not match.</Message><StringToSign>AWS4
 2026</StringToSign></Error>"""


@pytest.mark.parametrize(
    ("code", "number"), [("SignatureDoesNotMatch", errno.EACCES), ("SlowDown", None), ("NoSuchBucket", None)]
)
def test_errors_of_s3(code: str, number: int | None) -> None:
    error = OSError(S3.format(code=code))
    assert error_number(error) == number
    told = f"403 Forbidden {code}: The signature does not match."
    assert plain(error) == f"Generic S3 error Server returned non-2xx status code {told}"


@pytest.mark.parametrize("between", [": ", "\n \x1b[31m\u21b3\x1b[0m "])
@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("security.AccessControlException", errno.EACCES),
        ("hdfs.protocol.DSQuotaExceededException", errno.EDQUOT),
        ("ipc.StandbyException", None),
    ],
)
def test_errors_of_namenodes(between: str, kind: str, number: int | None) -> None:
    said = f"RPC error{between}org.apache.hadoop.{kind}\n Permission denied: user=me\n\tat org.apache.X.y(X.java:1)"
    error = OSError(said)
    assert error_number(error) == number
    assert (
        plain(error)
        == f"RPC error{':' if ':' in between else ''} org.apache.hadoop.{kind} Permission denied: user=me"
    )
