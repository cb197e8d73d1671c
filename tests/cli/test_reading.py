"""Commands that look at a store: what people see, and what programs read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import headrace as hr
from cli.helpers import BIG, Ran, headrace
from conftest import Server

VERSION = version("headrace")
Command = Callable[..., Ran]


def test_people_see_tables(lake: Path, command: Command) -> None:
    names, rule, *rows = headrace("fg", "list", "[fw]*", "--store", lake).lines
    assert names == "group        primary key   event time   ttl   columns   description"
    assert rule == "─" * 77
    assert rows == [
        "flights@v1   id            dep                      4",
        "weather@v1   origin        seen         2h          3   hourly [bold]readings",
        "wide@v1      c0                                    40",
    ]
    found = command("fg", "list", "--search", "hourly temp", "--store", lake).lines
    assert [line.split()[0] for line in found[2:]] == ["weather@v1"]
    for noun, told in (("fg", "group"), ("fv", "view")):
        none = command(noun, "list", "--tag", "team=none", "--store", lake)
        assert none.lines == [f"no feature {told} to show in project default"]
    shown = command("fg", "show", "weather", "--store", lake).lines
    assert shown[:5] == [
        "group          weather@v1",
        "description    hourly [bold]readings",
        "primary key    origin",
        "event time     seen",
        "ttl            2h",
    ]
    facts = dict(line.split("  ", 1) for line in shown[: shown.index("")])
    assert (facts["rows"].strip(), facts["files"].strip()) == ("3", "1")
    assert facts["size"].endswith(" kB")
    assert facts.keys().isdisjoint({"advice", "adopted"})
    assert shown[-5:] == [
        "column   type",
        "──────────────────────────────",
        "origin   string",
        "seen     timestamp[us, tz=UTC]",
        "temp     double",
    ]
    preview = ("fg", "preview", "weather@v1", "--latest", "--columns", "origin, temp")
    assert sorted(command(*preview, "--store", lake).lines[2:]) == ["JFK       2.5", "LGA      null"]


def test_a_lost_table_hides_no_others(tmp_path: Path, command: Command) -> None:
    with hr.connect(str(tmp_path)) as store:
        for name in ("lost", "there"):
            store.create_feature_group(name, primary_key=["id"]).insert([{"id": 1}])
        shutil.rmtree(store.get_feature_group("lost").location)
    found = command("fg", "list", "--store", tmp_path, "--json").json
    assert [(group["name"], len(group["columns"])) for group in found] == [("lost", 0), ("there", 1)]


def test_people_see_views(service: str, command: Command) -> None:
    found = command("fv", "list", "--search", "known", "--store", service).lines
    assert [line.split()[0] for line in found[2:]] == ["delays@v1"]
    assert command("fv", "list", "--store", service).lines[2:] == [
        "all_big@v1          3",
        "delays@v1           3   delay    what was known",
    ]
    assert command("fv", "show", "delays", "--store", service).lines[2:9] == [
        "",
        "column    type                    role",
        "─────────────────────────────────────────",
        "id        int64                   feature",
        "dep       timestamp[us, tz=UTC]   feature",
        "delay     int64                   label",
        "wx_temp   double                  feature",
    ]


def test_programs_read_json(service: str, command: Command) -> None:
    groups = command("fg", "list", "--json", "--store", service).json
    assert [(group["name"], group["version"]) for group in groups] == [
        ("big", 1), ("flights", 1), ("weather", 1), ("wide", 1),
    ]  # fmt: skip
    weather = command("fg", "show", "weather", "--json", "--store", service).json
    commit = weather.pop("newest_commit")
    assert "/default/weather-" in weather.pop("location")
    assert weather.pop("size_bytes") > 500
    assert weather == {
        "name": "weather",
        "version": 1,
        "description": "hourly [bold]readings",
        "primary_key": ["origin"],
        "event_time": "seen",
        "event_time_unit": None,
        "created_time": None,
        "ttl": "2h",
        "freshness": None,
        "min_age": None,
        "tie_breaker": None,
        "partition_by": [],
        "change_feed": True,
        "tags": {"team": "met"},
        "format": "delta",
        "adopted": False,
        "rows": 3,
        "files": 1,
        "files_compacted": 1,
        "needs_compaction": False,
        "columns": [
            {"name": "origin", "type": "string"},
            {"name": "seen", "type": "timestamp[us, tz=UTC]"},
            {"name": "temp", "type": "double"},
        ],
    }
    assert command("fg", "history", "weather", "--json", "--store", service).json == [commit]
    assert (commit["snapshot"], commit["rows_inserted"], commit["rows_deleted"]) == (0, 3, 0)


def test_programs_read_views(where: str, command: Command) -> None:
    shown = command("fv", "show", "delays", "--json", "--store", where).json
    assert (shown["labels"], shown["features"]) == (["delay"], ["id", "dep", "wx_temp"])
    assert [column["name"] for column in shown["columns"]] == ["id", "dep", "delay", "wx_temp"]
    assert "point in time weather@v1" in shown["plan"]

    between = ("--start", "2013-01-01T10:30Z", "--end", "2013-01-01T12:00")
    read = command("fv", "read", "delays@v1", *between, "--json", "--store", where).json
    assert sorted(read, key=lambda row: row["id"]) == [
        {"id": 1, "dep": "2013-01-01T10:30:00Z", "delay": 4, "wx_temp": 1.5},
        {"id": 2, "dep": "2013-01-01T11:30:00Z", "delay": -3, "wx_temp": 2.5},
    ]


def test_a_long_read_shows_its_first_rows(lake: Path, command: Command) -> None:
    read = command("fv", "read", "all_big", "--store", lake)
    assert len(read.lines) == 2 + 20
    assert read.err == "the first 20 rows: --limit, --output or --json gives more\n"
    assert len(command("fv", "read", "all_big", "--limit", 25, "--store", lake).lines) == 2 + 25


def test_a_wide_table_is_whole_where_nobody_watches(lake: Path, command: Command) -> None:
    names, _, row = command("fg", "preview", "wide", "--store", lake).lines
    assert names.split() == [f"c{i}" for i in range(40)]
    assert row.split() == [rf"\x1b[31mred{i}" for i in range(40)]


def test_rows_are_read_into_files(service: str, tmp_path: Path, command: Command) -> None:
    def read(name: str) -> Ran:
        return command("fv", "read", "delays", "--output", tmp_path / name, "--json", "--store", service)

    snapshots = {"flights@v1": 0, "weather@v1": 0}
    for name in ("delays.parquet", "delays.csv", "delays.arrow"):
        assert read(name).json == {"output": str(tmp_path / name), "rows": 3, "snapshots": snapshots}
    tables = [
        pa.parquet.read_table(tmp_path / "delays.parquet"),
        pa.csv.read_csv(tmp_path / "delays.csv"),
        pa.ipc.open_file(tmp_path / "delays.arrow").read_all(),
    ]
    with hr.connect(service) as fs:
        expected = fs.get_feature_view("delays").training_data().to_arrow().sort_by("id")
    assert [table.sort_by("id").cast(expected.schema) for table in tables] == [expected] * 3
    assert tables[0].schema == tables[2].schema == expected.schema
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "delays.arrow",
        "delays.csv",
        "delays.parquet",
    ]


def test_rows_go_through_a_pipe_into_another_group(service: str, tmp_path: Path, lake: Path) -> None:
    with hr.connect(tmp_path / "own") as fs:
        copy = fs.create_feature_group("copy", primary_key=["id"], event_time="seen")
        program = f"{sys.executable} -m headrace"
        read = f"{program} fv read all_big --output - --store {service}"
        insert = f"{program} fg insert copy - --mode append --json --store {tmp_path / 'own'}"
        subprocess.run(
            ["bash", "-c", f"set -o pipefail; {read} | {insert}"],
            check=True,
            timeout=120,
            capture_output=True,
        )
        assert copy.read(["id"]).to_arrow().num_rows == BIG


def test_status(where: str, command: Command) -> None:
    told = command("status", "--json", "--store", where).json
    kind = "service" if where.startswith("grpc") else "folder"
    assert told == {
        "store": where, "kind": kind, "project": "default", "version": VERSION, "reachable": True,
        "service_version": VERSION, "ready": True, "feature_groups": 4, "feature_views": 2,
    }  # fmt: skip


def test_status_tells_a_service_of_another_version(
    serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    installed = tmp_path / "headrace-99.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: headrace\nVersion: 99.1\n")
    with monkeypatch.context() as environment:
        environment.setenv("PYTHONPATH", str(tmp_path))
        service = serve()
    told = command("status", "--json", "--store", service.url).json
    assert (told["version"], told["service_version"]) == (VERSION, "99.1")


def test_the_store_is_named_by_the_environment(lake: Path, command: Command) -> None:
    lines = command("status", "--project", "other", HEADRACE_STORE=str(lake)).lines
    assert lines == [
        f"store            {lake}",
        "kind             folder",
        "project          other",
        f"version          {VERSION}",
        "reachable        yes",
        f"service version  {VERSION}",
        "ready            yes",
        "feature groups   0",
        "feature views    0",
    ]


@pytest.mark.parametrize("arguments", [[], ["fg"], ["fv"], ["td"], ["registry"], ["fg", "insert", "--help"]])
def test_help(arguments: list[str], command: Command) -> None:
    told = command(*arguments)
    assert (told.code, told.err) == (0, "")
    assert " ".join(["Usage: headrace", *(a for a in arguments if a != "--help")]) in told.out


def test_the_version(command: Command) -> None:
    assert command("--version").lines == [f"headrace {hr.__version__}"]
