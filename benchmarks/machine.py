"""The machine on which something was measured, what ran on it, and how busy it was."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

import headrace
from benchmarks.pinning import processors
from benchmarks.versions import versions

_ROOT = Path(__file__).parent.parent
_BUSY_PERCENT = 50.0
_LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 60.0
MEMORY = Path("/dev/shm")
"""A folder in memory, where the system has one."""
_SETTINGS = ("HEADRACE_BENCH_DATA", "HEADRACE_BENCH_JAVA", "HEADRACE_TAXI_FILES", "HUDI_CONF_DIR")
"""Variables of the environment that change what is measured."""


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


def is_busy(share: float) -> bool:
    """Whether others use so much of the processors that times mean little."""
    return 100 * share > _BUSY_PERCENT


@dataclasses.dataclass(frozen=True)
class Machine:
    """Args:
    processors: numbers of those that what was measured could use, as the system counts them.
    memory: bytes.
    settings: variables of the environment that change what is measured, and a folder in memory that is not there.
    """

    processor: str
    processors: tuple[int, ...]
    memory: int
    system: str
    python: str
    versions: dict[str, str]
    settings: dict[str, str]
    commit: str
    package: str


def current_load() -> Load:
    """Of the processors that are for us. Looks for a second."""
    each = psutil.cpu_percent(_LOOK_SECONDS, percpu=True)
    ours = [each[number] for number in processors() if number < len(each)]
    return Load(sum(ours) / len(ours), psutil.virtual_memory().percent)


def quiet_load(force: bool, tell: Callable[[str], None]) -> Load:
    """Waits a minute for others to be done, unless forced. Raises MachineBusy."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while (found := current_load()).busy and not force and time.monotonic() < until:
        tell(
            f"waiting for others, who use {found.cpu:.0f} % of the processors, {found.memory:.0f} % of the memory"
        )
    check_load(found, force)
    return found


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
        processors=processors(),
        memory=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions=versions(),
        settings={name: os.environ[name] for name in _SETTINGS if name in os.environ}
        | ({} if MEMORY.is_dir() else {str(MEMORY): "none"}),
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
