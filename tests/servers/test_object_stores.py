"""That the object stores of the tests keep what Delta commits rest on, as those in the cloud do."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from servers.azurite import Azurite
from servers.race import append_at_once, expected, winners
from servers.s3 import REGION, S3
from servers.sigv4 import signed

pytestmark = pytest.mark.slow
_local = threading.local()


@pytest.fixture(scope="module", params=[S3, Azurite])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3 | Azurite]:
    with request.param(tmp_path_factory.mktemp("store")) as server:
        yield server


def _request(
    store: S3 | Azurite, method: str, key: str, body: bytes, condition: dict[str, str]
) -> bytes | None:
    """What is answered, if it was done. Each thread keeps its connection, so that all requests come at once."""
    if isinstance(store, S3):
        path = f"/{store.bucket}/{key}"
        headers = signed(method, f"127.0.0.1:{store.port}", path, REGION, store.access_key, store.secret_key)
    else:
        path = f"/{store.account}/{store.container}/{key}?{store.signature}"
        headers = {"x-ms-blob-type": "BlockBlob"}
    if getattr(_local, "port", None) != store.port:
        _local.port = store.port
        _local.connection = http.client.HTTPConnection("127.0.0.1", store.port, timeout=60)
    _local.connection.request(method, path, body, {**headers, **condition})
    answer = _local.connection.getresponse()
    said: bytes = answer.read()
    assert answer.status in {200, 201, 409, 412}, said
    return said if answer.status < 300 else None


def test_one_of_many_makes_what_is_not_there(store: S3 | Azurite) -> None:
    won = winners(lambda key, body: _request(store, "PUT", key, body, {"If-None-Match": "*"}) is not None)
    assert {len(threads) for threads in won} == {1}
    kept = [_request(store, "GET", f"race/{number}", b"", {}) for number in range(len(won))]
    assert kept == [b"%d" % thread for (thread,) in won]


def test_every_row_appended_at_once_is_there_once(store: S3 | Azurite) -> None:
    assert append_at_once(f"{store.url}/appended", store.storage_options) == expected()


def test_a_table_outlives_its_server(store: S3 | Azurite) -> None:
    rows, url = pa.table({"a": [1, 2, 3]}), f"{store.url}/outlives"
    write_deltalake(url, rows, storage_options=store.storage_options)
    store.daemon.stop()
    store.start()
    assert DeltaTable(url, storage_options=store.storage_options).to_pyarrow_table().equals(rows)
