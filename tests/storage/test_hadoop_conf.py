"""Which NameNodes a URI means, by Hadoop's own configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace.storage.hadoop_conf import HadoopConf

HA = {
    "dfs.nameservices": "other, prod",
    "dfs.ha.namenodes.prod": "nn1, nn2",
    "dfs.namenode.rpc-address.prod.nn1": "one:8020",
    "dfs.namenode.rpc-address.prod.nn2": "two:9000",
    "dfs.namenode.rpc-address.other": "other-host",
}


def site(folder: Path, name: str, **settings: str) -> Path:
    entries = "".join(
        f"<property><name>{k}</name><value> {v}\n</value></property>" for k, v in settings.items()
    )
    (folder / name).write_text(f'<?xml version="1.0"?><configuration>{entries}</configuration>')
    return folder


@pytest.mark.parametrize(
    ("authority", "namenodes"),
    [
        ("prod", ["one:8020", "two:9000"]),
        ("other", ["other-host:8020"]),
        ("host", ["host:8020"]),
        ("host:9000", ["host:9000"]),
        ("10.0.0.1:9000", ["10.0.0.1:9000"]),
    ],
)
def test_namenodes(authority: str, namenodes: list[str]) -> None:
    assert HadoopConf(None, HA).namenodes(authority) == namenodes


def test_files_and_what_is_given_before_them(tmp_path: Path) -> None:
    site(tmp_path, "core-site.xml", **{"fs.defaultFS": "hdfs://prod/"})
    site(tmp_path, "hdfs-site.xml", **HA)
    conf = HadoopConf(tmp_path, {"dfs.namenode.rpc-address.prod.nn2": "given:1"})
    assert conf.default_authority == "prod"
    assert conf.namenodes("prod") == ["one:8020", "given:1"]


def test_no_files(tmp_path: Path) -> None:
    conf = HadoopConf(tmp_path, {})
    assert conf.default_authority == ""
    assert conf.namenodes("nn") == ["nn:8020"]


@pytest.mark.parametrize(
    "written", ["hdfs://nn1:8020, hdfs://nn2:8020/", "nn1,nn2:8020", " nn2:8020 ,nn1:8020,"]
)
@pytest.mark.parametrize("first", ["nn1", "nn1:8020"])
def test_those_of_hopsfs_are_one_cluster(written: str, first: str) -> None:
    conf = HadoopConf(None, {"dfs.namenodes.rpc.addresses": written})
    assert conf.namenodes(first) == ["nn1:8020", "nn2:8020"]
    assert conf.namenodes("nn3") == ["nn3:8020"]


def test_those_of_hopsfs_under_a_nameservice() -> None:
    conf = HadoopConf(None, {"dfs.nameservices": "prod", "dfs.namenodes.rpc.addresses": "nn1,nn2"})
    assert conf.namenodes("prod") == ["nn1:8020", "nn2:8020"]


def test_a_name_for_all_of_those_of_hopsfs() -> None:
    conf = HadoopConf(
        None, {"fs.defaultFS": "hopsfs://rpc.example:8020", "dfs.namenodes.rpc.addresses": "nn1,nn2"}
    )
    assert conf.namenodes(conf.default_authority) == ["rpc.example:8020", "nn1:8020", "nn2:8020"]


@pytest.mark.parametrize("authority", ["host:", "host:x", "host:0", "host:65536", ":8020"])
def test_what_is_no_address(authority: str) -> None:
    with pytest.raises(hr.InvalidArgument, match="not the address of a NameNode"):
        HadoopConf(None, {}).namenodes(authority)


def test_a_namenode_without_an_address() -> None:
    with pytest.raises(hr.InvalidArgument, match=r"dfs\.namenode\.rpc-address\.prod\.nn3 is missing"):
        HadoopConf(None, HA | {"dfs.ha.namenodes.prod": "nn1,nn3"}).namenodes("prod")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    with pytest.raises(hr.InvalidArgument, match=r"hdfs-site\.xml cannot be read"):
        HadoopConf(tmp_path, {})


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgument, match="there is no folder"):
        HadoopConf(tmp_path / "none", HA)
