"""Arrow's JDBC driver for Flight SQL, in a process of Java's."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType

HOME = Path(__file__).parents[2] / ".jdbc"


class JdbcError(Exception):
    """What the driver said."""


class Jdbc:
    """A connection by `jdbc:arrow-flight-sql://…`."""

    def __init__(self, url: str) -> None:
        if not (HOME / ".ready").exists():
            raise RuntimeError("the JDBC driver is not installed: make .jdbc/.ready installs it")
        (driver,) = HOME.glob("*.jar")
        command = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Duser.timezone=UTC", "-cp", driver]
        self._java = subprocess.Popen(
            [*command, Path(__file__).parent / "jdbc" / "Ask.java", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def ask(self, *words: str) -> list[list[str]]:
        """The rows of the answer: see `Ask.java`. Raises JdbcError."""
        assert self._java.stdin is not None
        assert self._java.stdout is not None
        self._java.stdin.write("\t".join(words) + "\n")
        self._java.stdin.flush()
        lines = []
        for line in self._java.stdout:
            if line == ".\n":
                break
            lines.append(line.removesuffix("\n"))
        if lines and lines[0].startswith("! "):
            raise JdbcError(lines[0])
        return [line.split("\t") for line in lines]

    def __enter__(self) -> Jdbc:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._java.stdin is not None
        self._java.stdin.close()
        try:
            self._java.wait(20)
        except subprocess.TimeoutExpired:
            self._java.kill()
            self._java.wait()
