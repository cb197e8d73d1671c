"""Commands that change a store."""

from __future__ import annotations

import datetime as dt
import io
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import headrace as hr
from cli.helpers import CLEAN, Ran, at, headrace

ROWS = [
    {"origin": "JFK", "seen": at("10:00"), "temp": 1.5},
    {"origin": "LGA", "seen": at("10:00"), "temp": None},
]


def stored(fs: hr.FeatureStore, name: str = "weather") -> list[dict]:
    return fs.get_feature_group(name).read().to_arrow().sort_by([("origin", "ascending")]).to_pylist()


def test_from_nothing_to_rows(tmp_path: Path, command: Callable[..., Ran]) -> None:
    root = tmp_path / "lake"
    assert command("init", root, "--json").json == {"store": str(root), "made": True}
    again = command("init", root)
    assert again.lines[0] == f"there is a store already in {root}"
    assert "headrace fg create" in again.out

    made = command(
        "fg", "create", "weather@v2", "--primary-key", "origin", "--primary-key", "station", "--event-time", "seen",
        "--created-time", "made", "--partition-by", "origin", "--ttl", "90m", "--min-age", "1m", "--tie-breaker", "temp",
        "--tag", "team=met", "--description", "readings", "--json", "--store", root,
    ).json  # fmt: skip
    expected = {
        "name": "weather", "version": 2, "primary_key": ["origin", "station"], "event_time": "seen",
        "created_time": "made", "ttl": "90m", "min_age": "1m", "tie_breaker": "temp", "partition_by": ["origin"],
        "change_feed": True, "tags": {"team": "met"}, "description": "readings", "columns": [],
    }  # fmt: skip
    assert expected.items() <= made.items()
    assert command("fg", "create", "weather@v2", "--primary-key", "origin", "--store", root).code == 6
    shown = command("fg", "show", "weather", "--store", root).lines
    assert shown[5:10] == [
        "ttl           90m",
        "min age       1m",
        "tie breaker   temp",
        "partition by  origin",
        "change feed   yes",
    ]
    assert shown[-1] == "no columns yet: the first insert sets them"
    assert command("fg", "history", "weather", "--store", root).lines == ["no commits"]


def test_files_are_inserted_in_one_commit(
    own: hr.FeatureStore, on_own: Callable[..., Ran], tmp_path: Path
) -> None:
    pa.parquet.write_table(pa.Table.from_pylist(ROWS[:1]), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("seen,temp,origin\n2013-01-01T10:00:00Z,,LGA\n")
    told = on_own("fg", "insert", "weather", tmp_path / "a.parquet", tmp_path / "b.csv")
    assert told.lines[0] == "weather@v1 at snapshot 0: 2 inserted, 0 updated, 0 deleted"
    assert told.lines[1].startswith("read 2 rows in ")
    assert told.err == ""
    assert stored(own) == ROWS

    (tmp_path / "c.jsonl").write_text(
        '{"origin": "JFK", "seen": "2013-01-01T10:00Z", "temp": 3}\n{"origin": "EWR", "seen": "2013-01-01T10:00Z", "temp": 4}\n'
    )
    again = ("fg", "insert", "weather@v1", tmp_path / "c.jsonl", "--idempotency-key", "monday", "--json")
    commit = on_own(*again).json
    assert on_own(*again).json == commit
    assert (
        commit.items()
        >= {"feature_group": "weather@v1", "snapshot": 1, "rows_inserted": 1, "rows_updated": 1}.items()
    )
    assert [row["temp"] for row in stored(own)] == [4.0, 3.0, None]


def test_an_arrow_stream_is_inserted_from_stdin(own: hr.FeatureStore, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    commit = headrace(
        "fg", "insert", "weather", "-", "--json", "--store", tmp_path / "own", stdin=sink.getvalue()
    ).json
    assert commit["rows_inserted"] == 2
    assert stored(own) == ROWS


def test_a_stream_that_was_cut_off_is_not_inserted(own: hr.FeatureStore, tmp_path: Path) -> None:
    """Between two batches, as by a producer that was killed: to Arrow such a stream has simply ended."""
    table = pa.Table.from_pylist(ROWS)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    cut = sink.getvalue()[:-8]
    (tmp_path / "cut.arrow").write_bytes(cut)
    for path, stdin in (("-", cut), (tmp_path / "cut.arrow", b"")):
        ran = headrace("fg", "insert", "weather", path, "--store", tmp_path / "own", stdin=stdin)
        assert ran.code != 0
        assert "cut off" in ran.err
    assert own.get_feature_group("weather").schema is None


def test_what_follows_a_stream_is_not_left_out(own: hr.FeatureStore, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    sink = io.BytesIO()
    for part in (table[:1], table[1:]):
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(part)
    two = sink.getvalue()
    (tmp_path / "two.arrow").write_bytes(two)
    for path, stdin in (("-", two), (tmp_path / "two.arrow", b"")):
        ran = headrace("fg", "insert", "weather", path, "--store", tmp_path / "own", stdin=stdin)
        assert ran.code == 5
        assert "more follows the end of the stream; give each stream a file of its own" in ran.err
    assert own.get_feature_group("weather").schema is None


def test_bad_rows_are_refused_and_change_nothing(
    own: hr.FeatureStore, on_own: Callable[..., Ran], tmp_path: Path
) -> None:
    own.get_feature_group("weather").insert(ROWS)
    (tmp_path / "bad.csv").write_text(
        "origin,seen,temp\nEWR,2013-01-01T10:00:00Z,1\n,2013-01-01T11:00:00Z,2\n"
    )
    told = on_own("fg", "insert", "weather", tmp_path / "bad.csv")
    assert (told.code, told.out) == (5, "")
    assert told.err == "NULL_KEYS: weather@v1: 'origin' is null in 1 row(s), first in row 1\n"

    (tmp_path / "bad.csv").write_text(
        "origin,seen,temp\nEWR,2013-01-01T10:00:00Z,1\nEWR,2013-01-01T10:00:00Z,warm\n"
    )
    error = on_own("fg", "insert", "weather", tmp_path / "bad.csv", "--json").error
    assert error["code"] == "BAD_DATA"
    assert "column 'temp', row 1: 'warm' is no double" in error["message"]
    assert error["details"] == {"file": str(tmp_path / "bad.csv"), "column": "temp", "row": 1}
    assert stored(own) == ROWS


def test_an_interrupted_insert_changes_nothing(own: hr.FeatureStore, tmp_path: Path) -> None:
    weather = own.get_feature_group("weather")
    weather.insert(ROWS)
    command = [
        sys.executable,
        "-m",
        "headrace",
        "fg",
        "insert",
        "weather",
        "-",
        "--store",
        str(tmp_path / "own"),
    ]
    rows = pa.Table.from_pylist([{**ROWS[0], "origin": f"{i:08}"} for i in range(50_000)])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            stream = pa.ipc.new_stream(process.stdin, rows.schema)
            stream.write_table(rows)  # returns when most of it was read, being more than a pipe holds
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert process.stderr.read().decode() == "CANCELLED: interrupted\n"
            process.stdin.close()
        finally:
            process.kill()
    assert stored(own) == ROWS
    assert len(weather.history()) == 1


def test_a_date_as_event_time_brings_a_warning(own: hr.FeatureStore, tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("origin,seen\nJFK,2013-01-01\n")
    told = headrace("fg", "insert", "weather", tmp_path / "days.csv", "--store", tmp_path / "own")
    assert told.code == 0
    assert told.err.startswith("warning: weather@v1: event time 'seen' is a date")


def test_delete(own: hr.FeatureStore, on_own: Callable[..., Ran]) -> None:
    group = own.get_feature_group("weather")
    group.insert(ROWS)
    own.create_feature_view("view", group.select("temp"))
    told = on_own("fg", "delete", "weather")
    assert told.code == 2
    assert (
        told.err
        == "INVALID_ARGUMENT: delete takes one version of weather\nhint: name it, such as weather@v1\n"
    )
    assert on_own("fg", "delete", "weather@v1", "--json").error["code"] == "CONFLICT"
    assert on_own("fg", "delete", "weather@v1", "--force", "--json").json == {"deleted": "weather@v1"}
    with pytest.raises(hr.NotFound):
        own.get_feature_group("weather")


def test_a_second_version_is_told_of(own: hr.FeatureStore, on_own: Callable[..., Ran]) -> None:
    first = on_own("fg", "create", "twice", "--primary-key", "id")
    second = on_own("fg", "create", "twice", "--primary-key", "id")
    third = on_own("fg", "create", "twice@v3", "--primary-key", "id")
    assert ["was there" in ran.err for ran in (first, second, third)] == [False, True, False]


def test_times_of_the_first_insert_may_be_of_every_form(
    own: hr.FeatureStore, on_own: Callable[..., Ran], tmp_path: Path
) -> None:
    texts = ["2024-01-05", "2024-01-06T10:00:00+02:00", "2024-01-07 12:30"]
    (tmp_path / "a.csv").write_text("origin,seen\n" + "".join(f"JFK,{t}\n" for t in texts))
    assert on_own("fg", "insert", "weather", tmp_path / "a.csv").code == 0
    seen = sorted(own.get_feature_group("weather").read().to_arrow()["seen"].to_pylist())
    assert [t.isoformat()[:16] for t in seen] == ["2024-01-05T00:00", "2024-01-06T08:00", "2024-01-07T12:30"]
    (tmp_path / "b.csv").write_text("origin,seen\nJFK,2024-01-05\nJFK,yesterday\n")
    own.create_feature_group("other", primary_key=["origin"], event_time="seen")
    error = on_own("fg", "insert", "other", tmp_path / "b.csv", "--json").error
    assert "column 'seen', row 1: 'yesterday' is no time" in error["message"]


def test_a_view_is_deleted_and_a_broken_one_hides_no_others(
    own: hr.FeatureStore, on_own: Callable[..., Ran]
) -> None:
    weather = own.get_feature_group("weather")
    weather.insert([{"origin": "JFK", "seen": dt.datetime(2024, 1, 1), "temp": 1.0}])
    gone = own.create_feature_group("gone", primary_key=["origin"])
    gone.insert([{"origin": "JFK", "x": 1}])
    own.create_feature_view("good", weather.select("temp"))
    own.create_feature_view("broken", weather.select("temp").join(gone, on="origin"))
    own.delete_feature_group("gone", 1, force=True)
    told = {view["name"]: view for view in on_own("fv", "list", "--json").json}
    assert (told["good"]["features"], told["good"]["problem"]) == (["temp"], None)
    assert told["broken"]["features"] is None
    assert "no feature group gone" in told["broken"]["problem"]
    assert "NOT_FOUND: project default has no feature group gone" in on_own("fv", "list").out
    assert on_own("fv", "delete", "broken").code == 2
    assert on_own("fv", "delete", "broken@v1").out == "deleted broken@v1\n"
    assert on_own("fv", "delete", "broken@v1").code == 3
    assert [view["name"] for view in on_own("fv", "list", "--json").json] == ["good"]


def test_upkeep(own: hr.FeatureStore, on_own: Callable[..., Ran]) -> None:
    group = own.create_feature_group("small", primary_key=["id"])
    for number in range(3):
        group.insert([{"id": number, "x": number}], mode="append")
    assert on_own("fg", "vacuum", "small").lines == ["small@v1: 0 files that --remove would remove"]
    assert on_own("fg", "compact", "small", "--zorder", "x,id").lines == ["small@v1 at snapshot 3: compacted"]
    assert on_own("fg", "compact", "small").lines == ["small@v1 at snapshot 3: no small files"]
    assert on_own("fg", "compact", "small", "--json").json["operation"] == "NONE"
    assert on_own("fg", "compact", "small", "--zorder", "y").code == 2
    listed = on_own("fg", "vacuum", "small", "--retention-hours", "0", "--json").json
    assert (listed["feature_group"], listed["removed"], len(listed["files"])) == ("small@v1", False, 3)
    removed = on_own("fg", "vacuum", "small", "--retention-hours", "0", "--remove")
    assert removed.lines == [*listed["files"], "small@v1: 3 files removed"]
    assert group.read().to_arrow().num_rows == 3


def test_many_small_files_bring_advice(own: hr.FeatureStore, on_own: Callable[..., Ran]) -> None:
    group = own.create_feature_group("clicks", primary_key=["id"])
    bare = on_own("fg", "show", "clicks", "--json").json
    assert (bare["rows"], bare["files"], bare["size_bytes"], bare["newest_commit"]) == (0, 0, 0, None)
    assert not any(
        line.startswith(("rows", "files", "size")) for line in on_own("fg", "show", "clicks").lines
    )
    for number in range(24):
        group.insert([{"id": number}], mode="append")
    advice = "24 files, mostly small: headrace fg compact clicks@v1 leaves about 1"
    assert f"advice         {advice}" in on_own("fg", "show", "clicks").lines
    told = on_own("fg", "show", "clicks", "--json").json
    assert (told["rows"], told["files"], told["files_compacted"], told["needs_compaction"]) == (
        24,
        24,
        1,
        True,
    )
    on_own("fg", "compact", "clicks@v1")
    assert "advice" not in on_own("fg", "show", "clicks").out
    told = on_own("fg", "show", "clicks", "--json").json
    assert (told["files"], told["needs_compaction"]) == (1, False)
