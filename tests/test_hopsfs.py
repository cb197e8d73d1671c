"""Programs that use `deltalake` itself, on HopsFS as an mTLS front before a real NameNode plays it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import headrace as hr
from headrace.hopsfs import storage_options
from servers.hdfs import Hdfs
from servers.pki import Pki
from servers.tls_front import TlsFront

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hopsfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, hr.TLS, Hdfs]]:
    """Where it is, what to show it, and the same cluster without TLS."""
    folder = tmp_path_factory.mktemp("hopsfs")
    pki = Pki(folder / "pki")
    with (
        Hdfs(folder / "hdfs") as hdfs,
        TlsFront(hdfs.namenode, pki.server(), folder / "front.log") as front,
    ):
        yield f"hopsfs://{front.address}", hr.TLS.from_dir(pki.client()), hdfs


def test_the_listings_of_the_thesis(hopsfs: tuple[str, hr.TLS, Hdfs]) -> None:
    """Listings 4.1 and 4.2 of 'Faster Delta Lake operations using Rust'."""
    uri, tls, _ = hopsfs
    with storage_options(uri, tls=tls) as options:
        df = pd.DataFrame({"num": [1, 2, 3], "letter": ["a", "b", "c"]})
        write_deltalake("hdfs://127.0.0.1/tmp/test", df, storage_options=options)

        dt = DeltaTable("hdfs://127.0.0.1/tmp/test", storage_options=options)
        assert dt.to_pyarrow_table().equals(pa.table({"num": [1, 2, 3], "letter": ["a", "b", "c"]}))


def test_whatever_else_a_program_does(hopsfs: tuple[str, hr.TLS, Hdfs]) -> None:
    uri, tls, hdfs = hopsfs
    with storage_options(uri, tls=tls) as options:
        place = "hdfs://127.0.0.1/tmp/more"
        write_deltalake(
            place, pa.table({"num": [1, 2, 3], "letter": ["a", "b", "c"]}), storage_options=options
        )
        table = DeltaTable(place, storage_options=options)
        merger = table.merge(
            pa.table({"num": [3, 4], "letter": ["z", "d"]}),
            "t.num = s.num",
            source_alias="s",
            target_alias="t",
        )
        merger.when_matched_update_all().when_not_matched_insert_all().execute()
        table.delete("num = 1")
        assert [entry["operation"] for entry in table.history()] == ["DELETE", "MERGE", "WRITE"]
        found = QueryBuilder().register("t", table).execute("SELECT * FROM t ORDER BY num").read_all()
        assert pa.table(found).to_pydict() == {"num": [2, 3, 4], "letter": ["b", "z", "d"]}
    plain = DeltaTable(f"{hdfs.url}/tmp/more", storage_options=hdfs.storage_options)
    assert plain.to_pyarrow_table().num_rows == 3


def test_it_ends_with_the_block(hopsfs: tuple[str, hr.TLS, Hdfs]) -> None:
    uri, tls, _ = hopsfs
    with storage_options(uri, tls=tls) as options:
        write_deltalake("hdfs://127.0.0.1/tmp/ended", pa.table({"a": [1]}), storage_options=options)
    # Reset, if it came in before the end and nobody took it.
    with pytest.raises(OSError, match=r"refused|reset"):
        DeltaTable("hdfs://127.0.0.1/tmp/ended", storage_options=options)


def test_a_certificate_that_is_refused(hopsfs: tuple[str, hr.TLS, Hdfs], tmp_path: Path) -> None:
    uri, tls, _ = hopsfs
    other = Pki(tmp_path / "other", "other")
    strange = other.client()
    with (
        pytest.raises(hr.TLSError, match="alert UnknownCA"),
        storage_options(
            uri, tls=hr.TLS(tls.ca, strange / "client_cert.pem", strange / "client_key.pem")
        ) as options,
    ):
        DeltaTable("hdfs://127.0.0.1/tmp/test", storage_options=options)
