"""`headrace doctor hdfs` and `headrace doctor hopsfs`, on clusters that are well, and on such as are not."""

from __future__ import annotations

import contextlib
import getpass
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import CLEAN, Ran
from servers import pki as certificates
from servers.daemon import free_ports
from servers.hdfs import Hdfs
from servers.pki import Pki
from servers.tls_front import TlsFront, Version

pytestmark = pytest.mark.slow
ME = getpass.getuser()
BOTH = "TLSv1_2", "TLSv1_3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doctor")


@pytest.fixture(scope="module")
def hdfs(folder: Path) -> Iterator[Hdfs]:
    settings = {
        "dfs.permissions.enabled": True,
        "dfs.block.access.token.enable": True,
        "dfs.encrypt.data.transfer": True,
    }
    with Hdfs(folder / "hdfs", namenodes=2, **settings) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def pki(folder: Path) -> Pki:
    return Pki(folder / "pki")


@pytest.fixture
def front(hdfs: Hdfs, pki: Pki, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts what plays HopsFS, and gives its URI."""
    with contextlib.ExitStack() as stack:

        def start(pems: Path | None = None, low: Version = "TLSv1_2", high: Version = "TLSv1_3") -> str:
            (port,) = free_ports(1)
            log = tmp_path / f"{port}.log"
            front = TlsFront(hdfs.namenode, pems or pki.server(), log, minimum=low, maximum=high, port=port)
            return f"hopsfs://{stack.enter_context(front).address}/"

        yield start


@pytest.fixture
def doctor(command: Callable[..., Ran]) -> Callable[..., dict[str, Any]]:
    """The checks of one run by their names, those of a NameNode without its address; `code` is the exit code."""

    def call(uri: str, *options: object, code: int = 0, **environment: str) -> dict[str, Any]:
        scheme = uri.partition(":")[0]
        ran = command("doctor", scheme, uri, "--timeout", "10", *options, "--json", **environment)
        assert ran.err == ""
        told = json.loads(ran.out)
        failed = [check for check in told["checks"] if check["state"] == "fail"]
        assert (ran.code, told["ok"]) == (code, not failed), failed
        return {_short(check["name"]): check for check in told["checks"]}

    return call


def _short(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if ":" in first else name


def left(hdfs: Hdfs) -> list[str]:
    """What lies in the root of the cluster."""
    done = subprocess.run(
        hdfs.java("org.apache.hadoop.fs.FsShell", "-ls", "-C", "/"),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout.split()


def test_a_cluster_of_two_is_well(doctor: Callable[..., dict[str, Any]], hdfs: Hdfs) -> None:
    found = doctor(f"{hdfs.url}/", HADOOP_CONF_DIR=str(hdfs.conf))
    assert {check["state"] for check in found.values()} == {"ok"}
    both = ", ".join(node.address for node in hdfs.namenodes)
    assert found["configuration"]["found"] == (
        f"test is {both}; core-site.xml and hdfs-site.xml in {hdfs.conf}"
    )
    active, standby = hdfs.namenodes
    assert found["failover"]["found"].startswith(
        f"begun at {standby.address}, calls reach {active.address}, in "
    )
    assert found["folder"]["found"] == f"/ can be written to; what is made belongs to {ME}"
    assert found["data encryption"]["found"].startswith("what goes to DataNodes is encrypted")
    assert found["rename"]["found"] == "onto a file that is there is refused (FileAlreadyExistsException)"
    assert found["race"]["found"].startswith("of two writers, one won each of 8 rounds")
    assert found["repeated call"]["found"].endswith(" under the same ids is made once")
    assert found["clocks"]["found"] == "the NameNode's and this machine's agree"
    assert found["clean-up"]["found"].endswith(" is removed")
    assert left(hdfs) == []


def test_one_namenode_and_another_user(doctor: Callable[..., dict[str, Any]], hdfs: Hdfs) -> None:
    uri = f"hdfs://{hdfs.namenode}/"
    found = doctor(uri)
    assert found["configuration"]["found"] == f"{hdfs.namenode}; no HADOOP_CONF_DIR"
    assert "failover" not in found
    refused = doctor(uri, code=4, HADOOP_USER_NAME="stranger")
    assert refused["RPC"]["found"] == "active; takes calls of stranger without a proof (SIMPLE)"
    assert refused["folder"]["found"].startswith(
        "/: AccessControlException: Permission denied: user=stranger"
    )
    missing = doctor(f"{uri}nowhere", code=3, HADOOP_USER_NAME=ME)
    assert missing["folder"]["advice"] == "hdfs dfs -mkdir -p /nowhere, or name a folder that is there"
    assert left(hdfs) == []


def test_what_plays_hopsfs_is_well(
    doctor: Callable[..., dict[str, Any]], front: Callable[..., str], pki: Pki, hdfs: Hdfs
) -> None:
    pems = pki.client("proj__ann", days=(-1, 30))
    found = doctor(front(), PEMS_DIR=str(pems), HADOOP_USER_NAME="proj__ann", code=4)
    assert found["client certificate"]["found"] == f"{pems}/client_cert.pem: CN=proj__ann; 29 days left"
    assert found["user"]["found"] == "proj__ann, as the certificate says"
    assert found["folder"]["state"] == "fail"  # of HDFS's permissions: it knows that user not
    found = doctor(front(), "--pems-dir", pems, HADOOP_USER_NAME=ME)
    assert (found["CA"]["state"], found["client key"]["state"]) == ("warn", "ok")
    assert found["user"]["state"] == "warn"
    assert found["user"]["advice"] == "set HADOOP_USER_NAME=proj__ann"
    assert found["TLS"]["found"] == "speaks TLS 1.2 and 1.3"
    assert found["certificate"]["found"] == "signed by the CA, for localhost, 127.0.0.1; 0 day(s) left"
    assert found["RPC without TLS"]["found"] == "is not answered: TLS comes first"
    assert found["small files"]["found"] == "lie on DataNodes, as others do (storage policy HOT)"
    assert {found[name]["state"] for name in ("data", "race", "rename", "clocks", "clean-up")} == {"ok"}
    assert left(hdfs) == []


@pytest.mark.parametrize(
    ("version", "said"), [("TLSv1_2", "speaks TLS 1.2, not 1.3"), ("TLSv1_3", "speaks TLS 1.3, not 1.2")]
)
def test_one_version_is_enough(
    doctor: Callable[..., dict[str, Any]], front: Callable[..., str], pki: Pki, version: Version, said: str
) -> None:
    assert doctor(front(low=version, high=version), "--pems-dir", pki.client())["TLS"]["found"] == said


def test_old_versions_are_not(
    doctor: Callable[..., dict[str, Any]], front: Callable[..., str], pki: Pki
) -> None:
    found = doctor(front(low="TLSv1_1", high="TLSv1_1"), "--pems-dir", pki.client(), code=8)["TLS"]
    assert found["found"].startswith("speaks neither TLS 1.2 nor 1.3 (")


def test_the_name_of_another_host(
    doctor: Callable[..., dict[str, Any]], front: Callable[..., str], pki: Pki
) -> None:
    uri = front(pki.server("elsewhere", hosts=("nn.example",)))
    found = doctor(uri, "--pems-dir", pki.client(), code=8)
    assert found["certificate"]["found"] == "is for nn.example, and not for 127.0.0.1"
    assert found["certificate"]["advice"].startswith("give --server-name nn.example ")
    assert "tunnel" not in found
    assert doctor(uri, "--pems-dir", pki.client(), "--server-name", "nn.example")["race"]["state"] == "ok"
    assert doctor(uri, "--pems-dir", pki.client(), "--verify", "chain")["race"]["state"] == "ok"


@pytest.mark.parametrize("version", BOTH)
def test_certificates_of_another_authority(
    doctor: Callable[..., dict[str, Any]],
    front: Callable[..., str],
    pki: Pki,
    tmp_path: Path,
    version: Version,
) -> None:
    uri, other = front(low=version, high=version), Pki(tmp_path / "other", "other").client()
    found = doctor(uri, "--pems-dir", other, code=8)
    assert found["certificate"]["found"].startswith(f"is not signed by the CA in {other}/ca_chain.pem: ")
    assert found["RPC"]["found"].startswith("does not take our certificate: ")
    certificates.replace(other, pki.client(), "ca_chain.pem")
    found = doctor(uri, "--pems-dir", other, code=8)
    assert found["certificate"]["state"] != "fail"
    assert found["RPC"]["found"].startswith("does not take our certificate: ")
    assert "tunnel" not in found


def test_files_that_cannot_be_used(
    doctor: Callable[..., dict[str, Any]], front: Callable[..., str], pki: Pki, tmp_path: Path
) -> None:
    uri = front()
    late = doctor(uri, "--pems-dir", pki.client("late", days=(-5, -2)), code=8)
    assert "has expired, 2 days ago" in late["client certificate"]["found"]
    assert "TLS" not in late
    mixed = pki.client("mixed")
    certificates.replace(mixed, pki.client("another"), "client_key.pem")
    assert "is not the key of" in doctor(uri, "--pems-dir", mixed, code=8)["client key"]["found"]
    for name in ("root_ca", "certificate_bundle", "private_key"):
        (tmp_path / f"proj__ann_{name}.pem").touch()
    ca = doctor(uri, "--pems-dir", tmp_path, code=8)["CA"]
    assert ca["advice"].endswith(f"--tls-key {tmp_path}/proj__ann_private_key.pem")
    assert doctor(uri, code=2)["certificates"]["advice"].startswith("give --pems-dir FOLDER")


def test_each_for_the_other(
    doctor: Callable[..., dict[str, Any]], front: Callable[..., str], hdfs: Hdfs, pki: Pki
) -> None:
    plain = doctor(f"hopsfs://{hdfs.namenode}/", "--pems-dir", pki.client(), code=8)
    assert plain["TLS"]["found"] == "does not speak TLS, and answers without it: it is of HDFS"
    assert plain["TLS"]["advice"] == "write hdfs://"
    secure = doctor(front().replace("hopsfs", "hdfs"), code=8)
    assert secure["RPC"]["found"] == "speaks TLS, as NameNodes of HopsFS do"


def test_what_cannot_be_asked(
    doctor: Callable[..., dict[str, Any]], hdfs: Hdfs, command: Callable[..., Ran]
) -> None:
    (port,) = free_ports(1)
    found = doctor(f"hdfs://127.0.0.1:{port}/", code=8)
    assert found["port"]["found"] == "cannot be reached: Connection refused"
    web = hdfs.active.settings["dfs.namenode.http-address.test.nn1"]
    assert doctor(f"hdfs://{web}/", code=8)["RPC"]["found"].startswith("does not speak Hadoop's RPC: ")
    assert doctor("hdfs:///x", code=2)["configuration"]["found"].endswith("names no cluster")
    assert (
        doctor("hdfs://ns/", "--option", "dfs.ha.namenodes.ns=a", code=2)["configuration"]["state"] == "fail"
    )
    strange = doctor(f"hdfs://{hdfs.namenode}/a%20b", code=2)["configuration"]["found"]
    assert "which no folder of a store or a table may have" in strange
    for wrong in ("s3://bucket", "hopsfs://nn:8020/"):
        assert command("doctor", "hdfs", wrong, "--json").error["code"] == "INVALID_ARGUMENT"
    assert command("doctor", "--project", "x", "hdfs", "hdfs://nn/").code == 2


def test_a_frozen_namenode_is_left_in_time(doctor: Callable[..., dict[str, Any]], hdfs: Hdfs) -> None:
    standby = hdfs.namenodes[1]
    standby.freeze()
    try:
        begun = time.monotonic()
        found = doctor(f"{hdfs.url}/", "--conf-dir", hdfs.conf, "--timeout", "1", code=8)
        assert time.monotonic() - begun < 15
    finally:
        standby.thaw()
    assert found["RPC"]["found"] == "gave no answer within 1 s"
    assert found["failover"]["found"].endswith(f"{standby.address} cannot be used")
    assert left(hdfs) == []


def test_nothing_stays_where_datanodes_hang(doctor: Callable[..., dict[str, Any]], hdfs: Hdfs) -> None:
    uri = f"hdfs://{hdfs.namenode}/"
    (datanode,) = hdfs.datanodes
    datanode.freeze()
    try:
        found = doctor(uri, "--timeout", "2", code=8)
        assert found["data"]["found"] == "TIMEOUT: not over within 2 s"
        assert found["race"]["state"] == found["clean-up"]["state"] == "ok"
        run = [sys.executable, "-m", "headrace", "doctor", "hdfs", uri]
        stopped = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN)
        while not left(hdfs):
            assert stopped.poll() is None
        stopped.send_signal(signal.SIGINT)
        out, err = stopped.communicate(timeout=30)
        assert (stopped.returncode, out, err) == (130, b"", b"CANCELLED: interrupted\n")
    finally:
        datanode.thaw()
    assert left(hdfs) == []
