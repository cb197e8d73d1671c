"""The command line as users run it: a process of its own, on a store with a little data."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa

import headrace as hr

CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("HEADRACE_")}
BIG = 200_000
"""Rows of the group `big`: more than pipes and sockets hold."""


def at(clock: str) -> dt.datetime:
    return dt.datetime.combine(dt.date(2013, 1, 1), dt.time.fromisoformat(clock), dt.UTC)


@dataclasses.dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout, of a command that did what it was told."""
        assert (self.code, self.err) == (0, ""), self
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error on stderr, of a command that failed."""
        assert self.code != 0, self
        (line,) = self.err.splitlines()
        return json.loads(line)["error"]

    @property
    def lines(self) -> list[str]:
        assert self.code == 0, self
        return [line.rstrip() for line in self.out.splitlines()]


def headrace(*arguments: object, stdin: bytes = b"", **environment: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-m", "headrace", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=CLEAN | environment,
        timeout=120,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def on_terminal(*arguments: object, columns: int = 100, said: str = "") -> tuple[int, str]:
    """Run a command on a terminal of its own: exit code, and all that it printed there."""
    ours, theirs = pty.openpty()
    shown = bytearray()

    def watch() -> None:
        try:
            while data := os.read(ours, 65_536):
                shown.extend(data)
        except OSError:
            return  # nobody holds the other end any more

    watching = threading.Thread(target=watch)
    watching.start()
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=CLEAN | {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"},
    )
    os.close(theirs)
    os.write(ours, said.encode())
    code = process.wait(120)
    watching.join()
    os.close(ours)
    return code, shown.decode()


def fill(root: Path) -> None:
    """`weather` and `flights` with a view over both, and two datasets of it; `big` and `wide`, which are."""
    with hr.connect(root) as fs:
        weather = fs.create_feature_group(
            "weather", primary_key=["origin"], event_time="seen", ttl="2h", description="hourly [bold]readings",
            tags={"team": "met"},
        )  # fmt: skip
        weather.insert(
            [
                {"origin": "JFK", "seen": at("10:00"), "temp": 1.5},
                {"origin": "JFK", "seen": at("11:00"), "temp": 2.5},
                {"origin": "LGA", "seen": at("10:00"), "temp": None},
            ]
        )
        flights = fs.create_feature_group("flights", primary_key=["id"], event_time="dep")
        flights.insert(
            [
                {"id": 1, "dep": at("10:30"), "origin": "JFK", "delay": 4},
                {"id": 2, "dep": at("11:30"), "origin": "JFK", "delay": -3},
                {"id": 3, "dep": at("12:30"), "origin": "EWR", "delay": 7},
            ]
        )
        query = flights.select("id", "dep", "delay").join(weather.select("temp"), on="origin", prefix="wx_")
        view = fs.create_feature_view("delays", query, labels=["delay"], description="what was known")
        eleven = at("11:00")
        view.create_training_dataset(
            splits={"train": (None, eleven), "test": (eleven, None)}, description="by time", tags={"by": "me"}
        )
        view.create_training_dataset(end=at("12:00"), splits={"train": 0.5, "test": 0.5}, format="arrow")
        big = fs.create_feature_group("big", primary_key=["id"], event_time="seen")
        moment = pa.scalar(at("00:00"), pa.timestamp("us", "UTC"))
        big.insert(
            pa.table({"id": range(BIG), "seen": pa.repeat(moment, BIG), "text": pa.repeat("x" * 100, BIG)}),
            mode="append",
        )
        fs.create_feature_view("all_big", big)
        wide = fs.create_feature_group("wide", primary_key=["c0"])
        wide.insert([{f"c{i}": f"\x1b[31mred{i}" for i in range(40)}])
