"""The service as it is installed on a machine: the steps of packaging/install.sh, in a Debian of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from service.test_health import get

ROOT = Path(__file__).parent.parent.parent
DEBIAN = ROOT / ".debian"
WHEELS = ROOT / "dist" / "wheels"
UNIT = ROOT / "packaging" / "headrace.service"

pytestmark = [pytest.mark.slow, pytest.mark.soak]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of a Debian, in which the script has run, twice, without a network, as hardened hosts have it."""
    for made, how in ((DEBIAN, "make .debian/.ready"), (WHEELS, "make wheels")):
        if not (made / ".ready").is_file():
            raise RuntimeError(f"{made} is not there: {how} makes it")
    root = tmp_path_factory.mktemp("debian") / "root"
    subprocess.run(["cp", "--archive", DEBIAN, root], check=True)
    shutil.copytree(WHEELS, root / "srv" / "wheels")
    shutil.copy(ROOT / "packaging" / "install.sh", root / "srv" / "install.sh")
    for _ in range(2):
        ran = in_chroot(root, "sh", "-c", "umask 077; exec sh /srv/install.sh /srv/wheels")
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith("headrace ")
    yield root
    shutil.rmtree(root)


def in_chroot(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Without a network."""
    return subprocess.run(
        ["unshare", "--net", "chroot", root, *command], capture_output=True, text=True, check=False
    )


@dataclasses.dataclass
class Running:
    process: subprocess.Popen[str]
    url: str
    http: str


@pytest.fixture
def running(installed: Path, tmp_path: Path) -> Iterator[Running]:
    """The service in that root, as its own user, with a /proc of its own."""
    inside = [
        "/opt/headrace/bin/headrace", "serve", "--root", "/var/lib/headrace/lake",
        "--listen", "grpc://127.0.0.1:0", "--http", "http://127.0.0.1:0",
        "--audit-log", "/var/log/headrace/audit.jsonl", "--log-format", "json", "--json",
    ]  # fmt: skip
    script = 'mount -t proc proc "$1/proc" && root=$1 && shift && exec chroot --userspec=headrace:headrace "$root" env -i HOME=/var/lib/headrace HEADRACE_WORK=/var/cache/headrace "$@"'
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, "sh", str(installed), *inside],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, (tmp_path / "log").read_text()
    told = json.loads(line)
    yield Running(process, told["listening"][0], told["http"])
    process.kill()
    process.wait()


def test_it_serves_is_ready_and_stops(running: Running, installed: Path) -> None:
    with hr.connect(running.url, timeout=60) as store:
        people = store.create_feature_group("people", primary_key=["id"])
        people.insert(pa.table({"id": [1, 2]}))
        assert people.read().to_arrow().num_rows == 2
        assert store.health().ready
    assert get(f"{running.http}/ready") == (200, "200 OK\n")
    metrics = get(f"{running.http}/metrics")[1]
    assert 'headrace_rows_total{kind="read"} 2.0' in metrics
    assert "process_resident_memory_bytes" in metrics
    (owner,) = {
        line for line in (installed / "etc" / "passwd").read_text().splitlines() if "headrace" in line
    }
    uid = int(owner.split(":")[2])
    assert uid != 0
    assert os.stat(f"/proc/{running.process.pid}").st_uid == uid
    audit = installed / "var" / "log" / "headrace" / "audit.jsonl"
    assert audit.stat().st_mode & 0o777 == 0o600
    assert len(audit.read_text().splitlines()) >= 6
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(15) == 0


def test_the_unit_is_one(installed: Path) -> None:
    """systemd looks for the program that it starts, too."""
    shutil.copy(UNIT, installed / "etc" / "systemd" / "system")
    ran = in_chroot(installed, "systemd-analyze", "verify", "--man=no", UNIT.name)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_unit_starts_what_the_command_line_takes(installed: Path) -> None:
    text = UNIT.read_text().replace("\\\n", " ")
    for sign, folder in (("%S", "/var/lib"), ("%L", "/var/log")):
        text = text.replace(sign, folder)
    (started,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    program, *arguments = started.removeprefix("ExecStart=").split()
    ran = in_chroot(installed, program, *arguments, "--json")
    error = json.loads(ran.stderr)["error"]
    assert error["code"] == "TLS_ERROR", error  # nobody has put certificates there
    assert "/etc/headrace/tls.pem" in error["message"]


def test_the_service_reads_its_certificates_and_changes_none(installed: Path) -> None:
    folder = installed / "etc" / "headrace"
    (folder / "tls.key").write_text("a key\n")
    (folder / "tls.key").chmod(0o640)
    assert in_chroot(installed, "chown", "root:headrace", "/etc/headrace/tls.key").returncode == 0
    as_service = ("runuser", "-u", "headrace", "--")
    assert in_chroot(installed, *as_service, "cat", "/etc/headrace/tls.key").stdout == "a key\n"
    assert in_chroot(installed, *as_service, "sh", "-c", "echo x >/etc/headrace/tls.key").returncode != 0
    assert in_chroot(installed, *as_service, "touch", "/etc/headrace/other").returncode != 0
    assert in_chroot(installed, "runuser", "-u", "nobody", "--", "ls", "/etc/headrace").returncode != 0
