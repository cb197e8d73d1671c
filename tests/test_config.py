"""URIs and options of storages, before anything is asked of them."""

from __future__ import annotations

import pytest

from headrace.config import given_uri, store_config
from headrace.errors import InvalidArgument


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


def test_options_are_not_shown_and_can_be_sent(tmp_path: object) -> None:
    config = store_config(str(tmp_path), storage_options={"AWS_SECRET_ACCESS_KEY": "sesame"})
    assert "sesame" not in repr(config)
    with pytest.raises(InvalidArgument, match="AWS_REGION"):
        store_config(str(tmp_path), storage_options={"AWS_REGION": "eu-north-1\n"})
