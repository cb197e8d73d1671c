"""Commands on stores in S3 and HopsFS, which nothing but their options tells how to reach."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from cli.helpers import Ran
from conftest import start_server
from servers.hdfs import Hdfs
from servers.pki import Pki
from servers.s3 import S3
from servers.tls_front import TlsFront

pytestmark = pytest.mark.slow


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    root: str
    arguments: list[str]
    registry: str
    options: dict[str, str]
    tls: hr.TLS | None = None

    def connect(self) -> hr.FeatureStore:
        return hr.connect(self.root, registry=self.registry, storage_options=self.options, tls=self.tls)

    @property
    def store(self) -> list[str]:
        return ["--store", self.root, *self.arguments]


@pytest.fixture(params=["s3", "hopsfs"])
def there(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Elsewhere]:
    monkeypatch.setenv("HEADRACE_WORK", str(tmp_path / "work"))
    url = f"sqlite:///{tmp_path / 'registry.db'}"
    registry = ["--registry", url]
    if request.param == "s3":
        with S3(tmp_path / "s3") as s3:
            options = [f"--option={key}={value}" for key, value in s3.storage_options.items()]
            yield Elsewhere(f"{s3.url}/lake", [*registry, *options], url, s3.storage_options)
        return
    pki = Pki(tmp_path / "pki")
    with (
        Hdfs(tmp_path / "hdfs") as hdfs,
        TlsFront(hdfs.namenode, pki.server(), tmp_path / "front.log") as front,
    ):
        pems = pki.client()
        arguments = [*registry, "--pems-dir", str(pems), "--server-name", "localhost"]
        yield Elsewhere(f"hopsfs://{front.address}/lake", arguments, url, {}, hr.TLS.from_dir(pems))


def test_a_group_from_its_declaration_to_its_end(
    there: Elsewhere, command: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "stock.csv").write_text("item,pieces\nbolt,10\nnut,7\n")
    steps = [
        ("fg", "create", "stock", "--primary-key", "item"),
        ("fg", "insert", "stock", tmp_path / "stock.csv"),
        ("fg", "compact", "stock"),
    ]
    for step in steps:
        ran = command(*step, *there.store)
        assert ran.code == 0, ran
    read = command("fg", "preview", "stock", "--json", *there.store)
    rows = sorted(read.json, key=lambda row: row["item"])
    assert rows == [{"item": "bolt", "pieces": 10}, {"item": "nut", "pieces": 7}]
    assert command("status", "--json", *there.store).json["kind"] == "storage"
    assert all(check["state"] != "fail" for check in command("doctor", "--json", *there.store).json["checks"])
    assert command("fg", "delete", "stock@v1", "--yes", *there.store).code == 0
    assert command("fg", "list", "--json", *there.store).json == []


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_a_training_dataset(there: Elsewhere, form: str) -> None:
    """Of text alone, which a header of CSV is taken for where it is read twice."""
    with there.connect() as store:
        names = store.create_feature_group("names", primary_key=["item"], event_time="at")
        at = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 100_000
        names.insert(pa.table({"item": [f"item {n}" for n in range(100_000)], "at": at}))
        view = store.create_feature_view("names", names.select("item"))
        made = view.create_training_dataset(format=form)
        assert made.read().to_arrow().sort_by("item")["item"].to_pylist() == sorted(
            f"item {n}" for n in range(100_000)
        )


def test_a_service(there: Elsewhere, command: Callable[..., Ran], tmp_path: Path) -> None:
    served = start_server(there.root, tmp_path / "serve.log", *there.arguments)
    try:
        group = ("fg", "create", "stock", "--primary-key", "item")
        assert command(*group, "--store", served.url).code == 0
        (tmp_path / "stock.csv").write_text("item,pieces\nbolt,10\n")
        assert command("fg", "insert", "stock", tmp_path / "stock.csv", "--store", served.url).code == 0
    finally:
        served.stop()
    read = command("fg", "preview", "stock", "--json", *there.store)
    assert read.json == [{"item": "bolt", "pieces": 10}]


def test_a_registry_that_is_another(there: Elsewhere, command: Callable[..., Ran], tmp_path: Path) -> None:
    assert command("fg", "create", "stock", "--primary-key", "item", *there.store).code == 0
    other = ["--registry", f"sqlite:///{tmp_path / 'other.db'}", *there.arguments[2:]]
    ran = command("fg", "list", "--json", "--store", there.root, *other)
    assert ran.error["code"] == "INVALID_ARGUMENT"
    assert "registry.db" in ran.error["message"]
