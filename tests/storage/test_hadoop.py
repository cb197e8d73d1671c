"""What users may say of how a cluster is reached."""

from __future__ import annotations

import time

import pytest
from deltalake import DeltaTable

import headrace as hr
from headrace.hopsfs import storage_options

pytestmark = pytest.mark.slow  # the tunnel is not built for the others


def test_how_long_a_namenode_is_waited_for() -> None:
    begun = time.monotonic()
    options = {"headrace.hdfs.outage_timeout": "0.5", "headrace.hdfs.connect_timeout": "0.2"}
    with (
        pytest.raises(hr.Unavailable) as raised,
        storage_options("hdfs://127.0.0.1:1", options=options) as told,
    ):
        DeltaTable("hdfs://127.0.0.1/t", storage_options=told)
    assert "headrace doctor hdfs hdfs://127.0.0.1:1/" in (raised.value.hint or "")
    assert not [key for key in told if key.startswith("headrace.")]
    assert time.monotonic() - begun < 20


def test_a_name_that_is_of_no_nameservice() -> None:
    """It may be a host's: only who gave it knows."""
    options = {"headrace.hdfs.outage_timeout": "0.5", "headrace.hdfs.connect_timeout": "0.2"}
    with (
        pytest.raises(hr.Unavailable) as raised,
        storage_options("hdfs://no-such-name", options=options) as told,
    ):
        DeltaTable("hdfs://no-such-name/t", storage_options=told)
    assert raised.value.hint is not None
    assert "no such nameservice" in raised.value.hint


def test_options_are_of_hdfs_alone() -> None:
    with pytest.raises(hr.InvalidArgument, match="not of HDFS"), storage_options("s3://bucket"):
        pass


@pytest.mark.parametrize(
    "options",
    [
        {"headrace.hdfs.patience": "1"},
        {"Headrace.HDFS.answer_timeout": "1"},
        {"headrace.hdfs.answer_timeout": "soon"},
        {"headrace.hdfs.answer_timeout": "0"},
    ],
)
def test_options_that_make_no_sense(options: dict[str, str]) -> None:
    with pytest.raises(hr.InvalidArgument), storage_options("hdfs://127.0.0.1:1", options=options):
        pass
