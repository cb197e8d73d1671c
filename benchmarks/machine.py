"""The machine on which something was measured, what ran on it, and how busy it was."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil

import headrace
from benchmarks.pinning import usable

_ROOT = Path(__file__).parent.parent
_PACKAGES = ("headrace", "duckdb", "pyarrow", "deltalake")
_BUSY_PERCENT = 50.0
_LOOK_SECONDS = 1.0


class MachineBusy(Exception):
    """Others use the machine so much that times would mean little."""


@dataclasses.dataclass(frozen=True)
class Load:
    """Percent of the processors and of the memory in use."""

    cpu: float
    memory: float

    @property
    def busy(self) -> bool:
        return max(self.cpu, self.memory) > _BUSY_PERCENT


@dataclasses.dataclass(frozen=True)
class Machine:
    """Args:
    cores: that what was measured could use.
    memory: bytes.
    """

    processor: str
    cores: int
    memory: int
    system: str
    python: str
    versions: dict[str, str]
    commit: str
    package: str


def current_load() -> Load:
    """Looks for a second."""
    return Load(psutil.cpu_percent(_LOOK_SECONDS), psutil.virtual_memory().percent)


def check_load(found: Load, force: bool) -> None:
    """Raises MachineBusy on a busy machine, unless forced."""
    if found.busy and not force:
        raise MachineBusy(
            f"others use {found.cpu:.0f} % of the processors and {found.memory:.0f} % of the memory: "
            "wait until neither is over 50 %, or measure with --force, which marks the figures"
        )


def machine() -> Machine:
    return Machine(
        processor=_processor(),
        cores=usable(),
        memory=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions={name: version(name) for name in _PACKAGES},
        commit=_commit(),
        package=package_digest(),
    )


def package_digest() -> str:
    """Names the sources of the Headrace that is measured, committed or not."""
    folder = Path(headrace.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _commit() -> str:
    """The commit that is checked out, with a + if files differ from it; empty outside of git."""
    head, changes = _git("rev-parse", "--short=12", "HEAD"), _git("status", "--porcelain")
    return f"{head}+" if head and changes else head


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
