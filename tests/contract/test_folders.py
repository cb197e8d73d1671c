"""Folders of Parquet, CSV and Arrow files as feature groups."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import headrace as hr
from contract.helpers import rows, values

pytestmark = pytest.mark.local_files
DAY = dt.date(2026, 1, 1)
TIME = pa.timestamp("us", "UTC")


def write(kind: str, table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "parquet":
            pq.write_table(table, path)
        case "csv":
            pyarrow.csv.write_csv(table, path)
        case "arrow":
            pyarrow.feather.write_feather(table, str(path))


def flights(first: int, count: int = 3) -> pa.Table:
    times = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(count)]
    return pa.table(
        {
            "id": range(first, first + count),
            "tailnum": [f"N{i}" for i in range(count)],
            "delay": [0.5 * i if i else None for i in range(count)],
            "dep": pa.array(times, TIME),
        }
    )


@pytest.fixture(params=["parquet", "csv", "arrow"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder(kind: str, tmp_path: Path) -> Path:
    """Two files in hive's partitions, and what is none of the rows."""
    root = tmp_path / "theirs"
    write(kind, flights(0), root / "day=2026-01-01" / "hour=01" / f"a.{kind}")
    write(kind, flights(10), root / "day=2026-01-02" / "hour=__HIVE_DEFAULT_PARTITION__" / f"b.{kind}")
    (root / "_SUCCESS").touch()
    (root / "_temporary").mkdir()
    (root / "_temporary" / f"c.{kind}").write_text("half of it")
    (root / "day=2026-01-01" / f".hidden.{kind}").write_text("half of it")
    return root


def register(store: hr.FeatureStore, path: Path, kind: str, name: str = "flights", **options: object):
    options = {"primary_key": ["id"]} | options
    return store.register_feature_group(name, str(path), format=kind, **options)


class TestRead:
    def test_rows(self, store, folder, kind):
        group = register(store, folder, kind, event_time="dep")
        assert (group.format, group.location, group.partition_by) == (kind, str(folder), ("day", "hour"))
        schema = flights(0).schema.append(pa.field("day", pa.date32())).append(pa.field("hour", pa.int64()))
        assert group.schema == schema
        found = sorted(rows(group.read()), key=lambda row: row["id"])
        expected = [
            row | {"day": DAY + dt.timedelta(days=i), "hour": 1 if i == 0 else None}
            for i, first in enumerate((0, 10))
            for row in flights(first).to_pylist()
        ]
        assert found == expected

    def test_filters_leave_out_files(self, store, folder, kind):
        group = register(store, folder, kind)
        read = group.read(["id"], group["day"] == DAY)
        assert sorted(values(read, "id")) == [0, 1, 2]
        assert "(1 of 2 files)" in read.explain()
        assert (
            sorted(values(group.read(["day"], group["hour"].is_null()), "day"))
            == [DAY + dt.timedelta(days=1)] * 3
        )
        assert values(group.read(["id"], (group["delay"] > 0.5) & (group["hour"] == 1)), "id") == [2]
        if kind == "parquet":
            assert "(1 of 2 files)" in group.read(["id"], group["id"] > 5).explain()

    def test_in_any_order_of_columns(self, store, folder, kind):
        group = register(store, folder, kind)
        assert group.read(["hour", "tailnum", "day"]).to_arrow().column_names == ["hour", "tailnum", "day"]
        assert group.read(["day"]).to_arrow().num_rows == 6
        assert group.read(limit=4).to_arrow().num_rows == 4
        assert sum(batch.num_rows for batch in group.read().to_reader()) == 6

    def test_one_file(self, store, folder, kind):
        group = register(store, folder / "day=2026-01-01" / "hour=01" / f"a.{kind}", kind)
        assert group.partition_by == ()
        assert sorted(values(group.read(), "id")) == [0, 1, 2]

    def test_folders_of_no_partition(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "theirs" / "2026" / f"a.{kind}")
        write(kind, flights(10), tmp_path / "theirs" / f"b with spaces & *[1].{kind}")
        assert sorted(values(register(store, tmp_path / "theirs", kind).read(), "id")) == [
            0,
            1,
            2,
            10,
            11,
            12,
        ]

    def test_links_and_pipes(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "elsewhere" / f"a.{kind}")
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / "there").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "theirs" / "again").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "theirs" / f"latest.{kind}").symlink_to(tmp_path / "elsewhere" / f"a.{kind}")
        os.link(tmp_path / "elsewhere" / f"a.{kind}", tmp_path / "elsewhere" / f"hard.{kind}")
        (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "theirs")
        os.mkfifo(tmp_path / "theirs" / f"pipe.{kind}")
        (tmp_path / "theirs" / f"gone.{kind}").symlink_to(tmp_path / "nowhere")
        assert sorted(values(register(store, tmp_path / "theirs", kind).read(), "id")) == [0, 1, 2]

    def test_a_column_of_the_files_counts_not_its_folder(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "theirs" / "tailnum=wrong" / f"a.{kind}")
        group = register(store, tmp_path / "theirs", kind)
        assert group.partition_by == ()
        assert sorted(values(group.read(), "tailnum")) == ["N0", "N1", "N2"]

    def test_joins(self, store, folder, kind):
        group = register(store, folder, kind, event_time="dep", primary_key=["tailnum"], name="delays")
        spine = store.create_feature_group("legs", primary_key=["leg"], event_time="at")
        at = dt.datetime(2026, 1, 1, 1, 30, tzinfo=dt.UTC)
        spine.insert(pa.table({"leg": [1, 2], "at": pa.array([at, at], TIME), "tailnum": ["N1", "N2"]}))
        with pytest.raises(hr.AmbiguousRows):
            spine.select("leg").join(group.select("id"), on="tailnum").read().to_arrow()
        first = group.filter(group["day"] == DAY)
        query = spine.select("leg").join(first.select("delay"), on="tailnum")
        assert {row["leg"]: row["delay"] for row in rows(query.read())} == {1: 0.5, 2: None}

    def test_statistics(self, store, folder, kind):
        group = register(store, folder, kind)
        (told,) = rows(group.statistics(["delay"]))
        assert (told["count"], told["nulls"], told["max"]) == (4, 2, "1.0")

    def test_training_datasets(self, store, folder, kind):
        group = register(store, folder, kind, event_time="dep")
        view = store.create_feature_view("delays", group.select("id", "delay"))
        dataset = view.create_training_dataset()
        assert dataset.recompute().to_arrow() == dataset.read().to_arrow()
        write(kind, flights(20), folder / "day=2026-01-01" / "hour=01" / f"z.{kind}")
        assert dataset.read().to_arrow().num_rows == 6
        with pytest.raises(hr.SnapshotNotFound):
            dataset.recompute().to_arrow()


class TestDrift:
    def test_columns_come_and_go(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "theirs" / f"a.{kind}")
        write(kind, pa.table({"id": [10], "gate": ["B2"]}), tmp_path / "theirs" / f"b.{kind}")
        group = register(store, tmp_path / "theirs", kind)
        assert group.schema.names == ["id", "tailnum", "delay", "dep", "gate"]
        found = {row["id"]: (row["tailnum"], row["gate"]) for row in rows(group.read())}
        assert found == {0: ("N0", None), 1: ("N1", None), 2: ("N2", None), 10: (None, "B2")}
        assert values(group.read(["id"], group["gate"] == "B2"), "id") == [10]

    def test_wider_types(self, store, tmp_path, kind):
        write(
            kind,
            pa.table({"id": pa.array([1], pa.int32()), "x": pa.array([1], pa.int32())}),
            tmp_path / "theirs" / f"a.{kind}",
        )
        write(kind, pa.table({"id": pa.array([2**40]), "x": [1.5]}), tmp_path / "theirs" / f"b.{kind}")
        group = register(store, tmp_path / "theirs", kind)
        assert [str(field.type) for field in group.schema] == ["int64", "double"]
        assert sorted(values(group.read(), "id")) == [1, 2**40]
        assert sorted(values(group.read(), "x")) == [1.0, 1.5]

    def test_types_that_do_not_go_together(self, store, tmp_path, kind):
        write(kind, pa.table({"id": [1], "x": [1]}), tmp_path / "theirs" / f"a.{kind}")
        write(kind, pa.table({"id": [2], "x": ["many"]}), tmp_path / "theirs" / f"b.{kind}")
        if kind == "csv":  # where all is text
            group = register(store, tmp_path / "theirs", kind)
            assert sorted(values(group.read(), "x")) == ["1", "many"]
            return
        with pytest.raises(hr.SchemaMismatch, match=rf"'x'.*int64 in a\.{kind} and string in b\.{kind}"):
            register(store, tmp_path / "theirs", kind)

    def test_partitions_of_different_columns(self, store, folder, kind):
        write(kind, flights(20), folder / "day=2026-01-03" / f"c.{kind}")
        with pytest.raises(hr.SchemaMismatch, match="partitions of different columns"):
            register(store, folder, kind)

    def test_a_key_goes(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "theirs" / f"a.{kind}")
        group = register(store, tmp_path / "theirs", kind)
        write(kind, flights(0).drop_columns(["id"]), tmp_path / "theirs" / f"a.{kind}")
        with pytest.raises(hr.SchemaMismatch, match="'id'"):
            group.read().to_arrow()

    def test_partition_values(self, store, tmp_path, kind):
        for number, value in enumerate(["1", "01", "x%2Fy"]):
            write(kind, flights(10 * number), tmp_path / "theirs" / f"p={value}" / f"a.{kind}")
        group = register(store, tmp_path / "theirs", kind)
        assert {*values(group.read(), "p")} == {"1", "01", "x/y"}


class TestOthersWrite:
    def test_what_comes_is_seen(self, store, folder, kind):
        group = register(store, folder, kind)
        (before,) = group.history()
        assert group.read(snapshot=before.snapshot).to_arrow().num_rows == 6
        write(kind, flights(20), folder / "day=2026-01-01" / "hour=01" / f"c.{kind}")
        assert group.read().to_arrow().num_rows == 9
        (after,) = group.history()
        assert after.snapshot != before.snapshot
        with pytest.raises(hr.SnapshotNotFound):
            group.read(snapshot=before.snapshot).to_arrow()

    def test_a_file_is_replaced(self, store, folder, kind):
        group = register(store, folder, kind)
        assert sorted(values(group.read(["id"], group["id"] >= 0), "id")) == [0, 1, 2, 10, 11, 12]
        write(kind, flights(50), folder / "day=2026-01-01" / "hour=01" / f"a.{kind}")
        assert sorted(values(group.read(["id"], group["id"] >= 0), "id")) == [10, 11, 12, 50, 51, 52]
        assert values(group.read(["id"], group["id"] == 50), "id") == [50]

    def test_statistics_are_of_what_is_there(self, store, folder, kind):
        group = register(store, folder, kind)
        assert [row["max"] for row in rows(group.statistics(["id"]))] == ["12"]
        write(kind, flights(50), folder / "day=2026-01-01" / "hour=01" / f"a.{kind}")
        assert [row["max"] for row in rows(group.statistics(["id"]))] == ["52"]

    def test_a_file_is_removed_and_comes_back_with_other_rows(self, store, folder, kind):
        group = register(store, folder, kind)
        file = folder / "day=2026-01-01" / "hour=01" / f"a.{kind}"
        assert sorted(values(group.read(["id"], group["id"] >= 10), "id")) == [10, 11, 12]
        file.unlink()
        assert group.read().to_arrow().num_rows == 3
        write(kind, flights(20), file)
        assert sorted(values(group.read(["id"], group["id"] >= 20), "id")) == [20, 21, 22]

    @pytest.mark.parametrize("happens", ["added", "replaced", "removed"])
    def test_as_it_is_read(self, store, folder, kind, happens):
        group = register(store, folder, kind)
        read = group.read()
        file = folder / "day=2026-01-01" / "hour=01" / f"a.{kind}"
        if happens == "removed":
            file.unlink()
        else:
            write(kind, flights(50), file if happens == "replaced" else file.with_name(f"z.{kind}"))
        with pytest.raises(hr.Conflict, match="flights@v1") as caught:
            read.to_arrow()
        assert caught.value.retryable
        assert group.read().to_arrow().num_rows == {"added": 9, "replaced": 6, "removed": 3}[happens]

    @pytest.mark.parametrize("how", ["sql", "statistics"])
    def test_as_it_is_asked_in_other_ways(self, store, folder, kind, how):
        group = register(store, folder, kind)
        read = group.statistics(["id"]) if how == "statistics" else store.sql("SELECT max(id) FROM flights")
        write(kind, flights(50), folder / "day=2026-01-01" / "hour=01" / f"a.{kind}")
        write(kind, flights(60), folder / "day=2026-01-01" / "hour=01" / f"z.{kind}")
        with pytest.raises(hr.Conflict, match="flights@v1"):
            read.to_arrow()

    def test_all_is_gone(self, store, folder, kind):
        group = register(store, folder, kind)
        folder.rename(folder.with_name("elsewhere"))
        with pytest.raises(hr.CorruptTable, match="lost"):
            group.read().to_arrow()
        assert [listed.name for listed in store.list_feature_groups()] == ["flights"]
        folder.with_name("elsewhere").rename(folder)
        assert group.read().to_arrow().num_rows == 6


class TestRefused:
    def test_what_is_not_kept(self, store, folder, kind):
        group = register(store, folder, kind)
        for refused in (lambda: group.read(timestamp="2026-01-01"), lambda: group.changes(since=-1)):
            with pytest.raises(hr.Unsupported):
                refused().to_arrow()

    def test_writes(self, store, folder, kind):
        group = register(store, folder, kind)
        before = sorted((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file())
        for refused in (
            lambda: group.insert(flights(0)),
            lambda: group.delete(filter=group["id"] > 0),
            group.compact,
        ):
            with pytest.raises(hr.Unsupported, match="flights@v1"):
                refused()
        store.delete_feature_group("flights", 1)
        assert sorted((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file()) == before

    def test_what_is_not_there(self, store, tmp_path, kind):
        with pytest.raises(hr.NotFound):
            register(store, tmp_path / "nowhere", kind)
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "readme.txt").write_text("nothing")
        with pytest.raises(hr.NotFound, match=rf"\.{kind}"):
            register(store, tmp_path / "empty", kind)

    def test_a_pipe(self, store, tmp_path, kind):
        os.mkfifo(tmp_path / f"pipe.{kind}")
        with pytest.raises(hr.HeadraceError):
            register(store, tmp_path / f"pipe.{kind}", kind)

    def test_partitions_that_are_no_text(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "theirs" / "p=%FF" / f"a.{kind}")
        with pytest.raises(hr.SchemaMismatch, match="p=%FF"):
            register(store, tmp_path / "theirs", kind)

    def test_other_tables(self, store, tmp_path, kind):
        write(kind, flights(0), tmp_path / "theirs" / f"a.{kind}")
        part = tmp_path / "theirs" / "day=2026-01-02" / f"b.{kind}"
        write(kind, flights(0), part)
        for log, form in (("_delta_log/0.json", "delta"), (".hoodie/hoodie.properties", "hudi")):
            path = tmp_path / "theirs" / log
            path.parent.mkdir()
            path.write_text("{}")
            for given in (tmp_path / "theirs", tmp_path, part.parent, part):
                with pytest.raises(hr.InvalidArgument, match=rf"table at \S*/theirs, .* format='{form}'"):
                    register(store, given, kind)
            shutil.rmtree(path.parent)
        register(store, part, kind)

    @pytest.mark.parametrize("cut", [0, 1, 8, 20, 200])
    def test_damaged_files(self, store, tmp_path, kind, cut):
        path = tmp_path / "theirs" / f"a.{kind}"
        write(kind, flights(0, 50), path)
        whole = path.read_bytes()
        path.write_bytes(whole[:cut])
        if kind == "csv":  # of which less is less
            path.write_bytes(whole[: len(whole) // 2] + b'\n1,"open\n2,b\n')
        with pytest.raises(hr.HeadraceError, match=rf"a\.{kind}") as caught:
            register(store, tmp_path / "theirs", kind).read().to_arrow()
        assert not isinstance(caught.value, hr.InternalError)

    def test_one_damaged_later(self, store, folder, kind):
        group = register(store, folder, kind)
        (folder / "day=2026-01-01" / "hour=01" / f"a.{kind}").write_bytes(b"id,tailnum\n1,\xff\n")
        with pytest.raises((hr.CorruptTable, hr.BadData, hr.SchemaMismatch), match=rf"a\.{kind}|'id'"):
            group.read().to_arrow()

    def test_a_schema_for_what_has_one(self, store, tmp_path):
        with pytest.raises(hr.InvalidArgument, match="a delta table tells its own"):
            store.register_feature_group(
                "g", str(tmp_path), format="delta", primary_key=["id"], schema=pa.schema({"id": pa.string()})
            )

    def test_a_hint_fits_what_is_not_written(self, store, tmp_path, kind):
        at = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * 2
        write(kind, pa.table({"id": [1, 1], "at": at, "v": [1, 2]}), tmp_path / "theirs" / f"a.{kind}")
        options = {"event_time": "at", "primary_key": ["id"]}
        if kind == "csv":
            options["schema"] = pa.schema({"at": pa.timestamp("us", "UTC")})
        register(store, tmp_path / "theirs", kind, **options)
        spine = pa.table({"id": [1], "event_time": at[:1]})
        with pytest.raises(hr.AmbiguousRows, match="when it is registered") as caught:
            store.get_historical_features(spine, ["flights:v"]).to_arrow()
        assert "upsert" not in str(caught.value)


class TestCsv:
    def write(self, folder: Path, *contents: str) -> Path:
        folder.mkdir(exist_ok=True)
        for number, content in enumerate(contents):
            (folder / f"{number}.csv").write_text(content)
        return folder

    def test_given_types(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "zip,n\n00123,1\n99999,2\n")
        assert sorted(
            values(register(store, path, "csv", primary_key=["n"], name="found").read(), "zip")
        ) == [123, 99999]
        group = register(store, path, "csv", primary_key=["zip"], schema=pa.schema({"zip": pa.string()}))
        assert sorted(values(group.read(), "zip")) == ["00123", "99999"]
        assert store.get_feature_group("flights").schema == pa.schema({"zip": pa.string(), "n": pa.int64()})
        with pytest.raises(hr.SchemaMismatch, match="'nil'"):
            register(store, path, "csv", name="h", primary_key=["n"], schema=pa.schema({"nil": pa.string()}))

    @pytest.mark.parametrize(
        ("names", "row"),
        [("a;b,c;d", "1;2;3"), ("a|amount (EUR, net)|d", "1|2|3"), ('a;"x,y,z,w";d', "1;2;3")],
    )
    def test_a_comma_within_a_name_separates_nothing(self, store, tmp_path, names, row):
        group = register(
            store, self.write(tmp_path / "theirs", f"{names}\n{row}\n"), "csv", primary_key=["a"]
        )
        assert list(*(r.values() for r in rows(group.read()))) == [1, 2, 3]

    def test_nulls_texts_and_quotes(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", 'id,s\n1,\n2,""\n3,NA\n4,"a ""b"", c"\n5,"two\nlines"\n')
        found = {row["id"]: row["s"] for row in rows(register(store, path, "csv").read())}
        assert found == {1: None, 2: "", 3: "NA", 4: 'a "b", c', 5: "two\nlines"}

    @pytest.mark.parametrize("separator", [";", "\t", "|"])
    def test_separators(self, store, tmp_path, separator):
        path = self.write(tmp_path / "theirs", f"id{separator}s\n1{separator}a,b\n")
        assert rows(register(store, path, "csv").read()) == [{"id": 1, "s": "a,b"}]

    def test_compressed(self, store, tmp_path):
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / "a.csv.gz").write_bytes(gzip.compress(b"id,s\n1,a\n"))
        (tmp_path / "theirs" / "b.CSV").write_bytes(b"\xef\xbb\xbfid,s\r\n2,b")
        found = {row["id"]: row["s"] for row in rows(register(store, tmp_path / "theirs", "csv").read())}
        assert found == {1: "a", 2: "b"}

    def test_an_empty_file(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "id,s\n1,a\n", "", "id,s\n", "id,s", "id,t", "\n")
        assert rows(register(store, path, "csv").read()) == [{"id": 1, "s": "a", "t": None}]

    def test_of_long_numbers_no_digit_is_lost(self, store, tmp_path):
        long = ["12345678901234567890", "-9007199254740993", "0009007199254740993"]
        content = "".join(f"{i},{v},{i}e20,{i}.5\n" for i, v in enumerate([*long, "1.5"]))
        path = self.write(tmp_path / "theirs", f"id,n,big,f\n{content}")
        found = sorted(rows(register(store, path, "csv").read()), key=lambda row: row["id"])
        assert [row["n"] for row in found] == [*long, "1.5"]
        assert [row["big"] for row in found] == [0, 1e20, 2e20, 3e20]
        assert [row["f"] for row in found] == [0.5, 1.5, 2.5, 3.5]

    def test_whole_numbers_that_would_be_rounded_are_refused(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "id,v\n1,9007199254740993\n", "id,v\n2,1.5\n")
        group = register(store, path, "csv")
        with pytest.raises(hr.BadData, match=r"0\.csv: column 'v' holds 9007199254740993"):
            group.read().to_arrow()
        assert sorted(values(group.read(["id"]), "id")) == [1, 2]
        (path / "0.csv").write_text("id,v\n1,9007199254740992\n3,5\n")
        assert sorted(values(group.read(), "v")) == [1.5, 5, 2.0**53]

    @pytest.mark.parametrize("asked", [["id"], ["n"], ["id", "n"], ["name"], None])
    def test_an_open_quote_swallows_nothing_whatever_is_asked_for(self, store, tmp_path, asked):
        path = self.write(tmp_path / "theirs", 'id,name,n\n1,"abc,1\n2,x,2\n3,"y",3\n4,z,4\n')
        group = register(store, path, "csv")
        with pytest.raises(hr.BadData, match=r"0\.csv, line 2"):
            group.read(asked).to_arrow()

    def test_a_header_that_is_no_text(self, store, tmp_path):
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / "a.csv").write_bytes("id,é\n1,2\n".encode("latin1"))
        with pytest.raises(hr.BadData, match=r"a\.csv: a name in its first line is not in UTF-8"):
            register(store, tmp_path / "theirs", "csv")

    def test_a_file_whose_name_is_no_text(self, store, tmp_path):
        (tmp_path / "theirs").mkdir()
        Path(os.fsdecode(os.fsencode(tmp_path / "theirs") + b"/a\xff.csv")).write_text("id\n1\n")
        with pytest.raises(hr.HeadraceError) as caught:
            register(store, tmp_path / "theirs", "csv").read().to_arrow()
        assert caught.value.code in ("CORRUPT_TABLE", "INVALID_NAME", "INVALID_ARGUMENT")
        str(caught.value).encode()

    @pytest.mark.parametrize(
        "kind", [pa.list_(pa.int64()), pa.struct({"a": pa.int64()}), pa.map_(pa.string(), pa.int64())]
    )
    def test_types_that_there_are_not(self, store, tmp_path, kind):
        path = self.write(tmp_path / "theirs", "id,s\n1,a\n")
        with pytest.raises(hr.SchemaMismatch, match=r"column 's'.* CSV"):
            register(store, path, "csv", schema=pa.schema({"s": kind}))

    def test_given_types_are_those_that_are_stored(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "id,s,t\n1,a,2026-01-02 03:04:05\n")
        given = pa.schema({"id": pa.uint8(), "s": pa.large_string(), "t": pa.timestamp("s", "Europe/Zurich")})
        group = register(store, path, "csv", schema=given)
        stored = pa.schema({"id": pa.int16(), "s": pa.string(), "t": pa.timestamp("us", "UTC")})
        assert group.read().to_arrow().schema.remove_metadata() == stored

    @pytest.mark.parametrize("zone", [None, "UTC"])
    def test_how_times_are_written(self, store, tmp_path, zone):
        """What the first ones do not show, later ones may."""
        written = {
            "2026-01-02T03:04:05": "2026-01-02T03:04:05",
            "2026-01-02 03:04": "2026-01-02T03:04",
            "2026-01-02": "2026-01-02",
            "2026-01-02 03:04:05.123456789": "2026-01-02T03:04:05.123456",
            "2026-01-02 03:04:05+02:00": "2026-01-02T01:04:05",
            "2026-01-02 03:04:05.5Z": "2026-01-02T03:04:05.5",
        }
        lines = "".join(f"{i},{text}\n" for i, text in enumerate(written))
        path = self.write(tmp_path / "theirs", f"id,at\n{lines}99,\n")
        group = register(store, path, "csv", schema=pa.schema({"at": pa.timestamp("us", zone)}))
        found = sorted(rows(group.read()), key=lambda row: row["id"])
        zoned = dt.UTC if zone else None
        assert [row["at"] for row in found] == [
            *(dt.datetime.fromisoformat(text).replace(tzinfo=zoned) for text in written.values()),
            None,
        ]

    @pytest.mark.parametrize("beyond", ["12e45678", "-1e400"])
    def test_numbers_beyond_all_doubles(self, store, tmp_path, beyond):
        """Some are no numbers at all, but names that look like one."""
        path = self.write(tmp_path / "theirs", f"id,s\n1,2.5\n2,{beyond}\n3,inf\n")
        assert sorted(values(register(store, path, "csv").read(), "s")) == sorted(["2.5", beyond, "inf"])
        given = register(store, path, "csv", name="given", schema=pa.schema({"s": pa.float64()}))
        with pytest.raises(hr.BadData, match=beyond):
            given.read().to_arrow()

    def test_a_time_that_is_none(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "id,at\n1,2026-01-02\n2,2026-13-02 00:00\n")
        group = register(store, path, "csv", schema=pa.schema({"at": pa.timestamp("us", "UTC")}))
        with pytest.raises(hr.BadData, match=r"0\.csv: column 'at'.*2026-13-02"):
            group.read().to_arrow()

    def test_a_column_without_a_name(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", ",id\n0,1\n")
        with pytest.raises(hr.InvalidName, match=r"0\.csv.*index=False"):
            register(store, path, "csv")

    def test_a_packed_file_that_is_damaged(self, store, tmp_path):
        (tmp_path / "theirs").mkdir()
        path = tmp_path / "theirs" / "a.csv.gz"
        packed = gzip.compress(b"id,s\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(200_000)))
        path.write_bytes(packed)
        group = register(store, tmp_path / "theirs", "csv")
        for damaged in (packed[: len(packed) // 2], packed[:5], packed[:9_000] + b"!" * 99 + packed[9_099:]):
            path.write_bytes(damaged)
            with pytest.raises((hr.CorruptTable, hr.BadData), match=r"a\.csv\.gz"):
                group.read().to_arrow()

    def test_a_value_that_does_not_fit(self, store, tmp_path):
        lines = "\n".join(str(i) for i in range(3_000_000))
        path = self.write(tmp_path / "theirs", f"id\n{lines}\nmany\n")
        group = register(store, path, "csv")
        with pytest.raises(hr.BadData, match=r"0\.csv.*many") as caught:
            group.read().to_arrow()
        assert "schema=" in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "told", "remedy"),
        [
            ('id,s\n1,"open\n2,b\n3,"c"\n', r", line 2: a quote", "doubled"),
            ("id,s\n1,x\n1,a,b\n", r", row 3, .* has 3 fields, and there are 2 names", "quotes"),
            ("id,s\n1\n", r", row 2, .* has 1 fields", "separator"),
            ("id,s\n1,a\n2,\xff\n", r": column 's', row 3, .* not in UTF-8", "iconv"),
            ("id,n\n1,7\n2,x\n", r": column 'n': Row #3: .*'x'", "schema="),
            (f"id,s\n1,a\n2,{'x' * (20 << 20)}\n", r": a row after row 2 takes more than 8 MB", "Parquet"),
        ],
        ids=["open quote", "too many", "too few", "Latin-1", "type", "long"],
    )
    def test_rows_that_are_broken(self, store, tmp_path, content, told, remedy):
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / "a.csv").write_bytes(content.encode("latin1"))
        given = pa.schema({"n": pa.int64()}) if "id,n" in content else None
        with pytest.raises(hr.BadData, match=rf"a\.csv{told}") as caught:
            register(store, tmp_path / "theirs", "csv", schema=given).read().to_arrow()
        assert remedy in caught.value.hint

    def test_files_without_columns(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "", "\n")
        with pytest.raises(hr.SchemaMismatch, match=r"theirs have no columns") as caught:
            register(store, path, "csv")
        assert "written to the end" in caught.value.hint

    def test_empty_lines_before_the_names(self, store, tmp_path):
        path = self.write(tmp_path / "theirs", "\n\r\nid;s\n1;a,b\n")
        assert rows(register(store, path, "csv").read()) == [{"id": 1, "s": "a,b"}]

    @pytest.mark.parametrize("zone", [None, "UTC"])
    def test_times_in_partitions(self, store, tmp_path, zone):
        for hour in ("2013-01-01T10", "2013-01-01 11%3A30"):
            (tmp_path / "theirs" / f"d={hour}").mkdir(parents=True)
            (tmp_path / "theirs" / f"d={hour}" / "a.csv").write_text("id\n1\n")
        group = register(store, tmp_path / "theirs", "csv", schema=pa.schema({"d": pa.timestamp("us", zone)}))
        told = [dt.datetime(2013, 1, 1, 10), dt.datetime(2013, 1, 1, 11, 30)]
        assert sorted(values(group.read(), "d")) == [
            time.replace(tzinfo=dt.UTC if zone else None) for time in told
        ]
        (tmp_path / "theirs" / "d=noon").mkdir()
        (tmp_path / "theirs" / "d=noon" / "a.csv").write_text("id\n1\n")
        with pytest.raises(hr.SchemaMismatch, match=r"'d'.*'noon' is no time"):
            group.read().to_arrow()

    def test_a_name_twice(self, store, tmp_path):
        with pytest.raises(hr.NameClash, match="'id'"):
            register(store, self.write(tmp_path / "theirs", "id,id\n1,2\n"), "csv")


class TestTimes:
    """Of files that have more digits than are read, or fewer."""

    LAST = 1_577_836_799_999_999_999
    CUT = dt.datetime(2019, 12, 31, 23, 59, 59, 999_999, dt.UTC)
    BEFORE_1970 = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)

    @pytest.fixture(params=["parquet", "arrow"])
    def kind(self, request) -> str:
        return request.param

    @pytest.mark.parametrize("zone", ["UTC", None])
    def test_digits_are_cut(self, store, tmp_path, kind, zone):
        at = pa.array([self.LAST, -1, None], pa.timestamp("ns", zone))
        write(kind, pa.table({"id": [1, 2, 3], "at": at}), tmp_path / "theirs" / f"a.{kind}")
        group = register(store, tmp_path / "theirs", kind, event_time="at")
        found = {row["id"]: row["at"] for row in rows(group.read())}
        naive = {} if zone else {"tzinfo": None}
        assert found == {1: self.CUT.replace(**naive), 2: self.BEFORE_1970.replace(**naive), 3: None}
        if zone:
            early = group["at"] < dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
            assert sorted(values(group.read(["id"], early), "id")) == [1, 2]

    def test_digits_are_cut_within_others(self, store, tmp_path, kind):
        time = pa.timestamp("ns", "UTC")
        table = pa.table(
            {
                "id": [0, 1, 2],
                "l": pa.array([[0], [self.LAST, None, -1], None], pa.list_(time)),
                "s": pa.array(
                    [None, {"a": -1, "b": 7}, {"a": None, "b": 8}], pa.struct({"a": time, "b": pa.int32()})
                ),
                "m": pa.array([[], [("k", -1)], None], pa.map_(pa.string(), time)),
                "far": pa.array([None, 253_402_300_799_000_000, 0], pa.timestamp("us", "UTC")),
            }
        ).slice(1)
        write(kind, table, tmp_path / "theirs" / f"a.{kind}")
        found = sorted(rows(register(store, tmp_path / "theirs", kind).read()), key=lambda row: row["id"])
        assert found == [
            {
                "id": 1,
                "l": [self.CUT, None, self.BEFORE_1970],
                "s": {"a": self.BEFORE_1970, "b": 7},
                "m": [("k", self.BEFORE_1970)],
                "far": dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
            },
            {
                "id": 2,
                "l": None,
                "s": {"a": None, "b": 8},
                "m": None,
                "far": dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
            },
        ]

    def test_files_of_different_digits(self, store, tmp_path, kind):
        """In microseconds there are times of which there are no nanoseconds."""
        far = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
        for number, (unit, at) in enumerate((("us", far), ("ns", self.LAST), ("ms", far), ("ns", -1))):
            table = pa.table({"id": [number], "at": pa.array([at], pa.timestamp(unit, "UTC"))})
            write(kind, table, tmp_path / "theirs" / f"p={number}" / f"a.{kind}")
        group = register(store, tmp_path / "theirs", kind, event_time="at")
        expected = {0: (far, 0), 1: (self.CUT, 1), 2: (far, 2), 3: (self.BEFORE_1970, 3)}
        assert {row["id"]: (row["at"], row["p"]) for row in rows(group.read())} == expected
        assert sorted(values(group.read(["p"], group["at"] == far), "p")) == [0, 2]
        assert values(group.read(["p"], group["at"] == self.CUT), "p") == [1]

    def test_what_is_no_time_of_microseconds(self, store, tmp_path, kind):
        table = pa.table({"id": [1], "at": pa.array([2**62], pa.timestamp("ms", "UTC"))})
        write(kind, table, tmp_path / "theirs" / f"a.{kind}")
        group = register(store, tmp_path / "theirs", kind)
        with pytest.raises(hr.InvalidArgument if kind == "parquet" else hr.CorruptTable):
            group.read().to_arrow()

    def test_no_time_begins_anew(self, store, tmp_path):
        table = pa.table({"id": [1], "at": pa.array([2**63 - 1], pa.timestamp("ms", "UTC"))})
        write("arrow", table, tmp_path / "theirs" / "a.arrow")
        with pytest.raises(hr.CorruptTable, match=r"a\.arrow"):
            register(store, tmp_path / "theirs", "arrow").read().to_arrow()

    def test_times_of_96_bits(self, store, tmp_path):
        at = pa.array(
            [dt.datetime(1, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2200, 1, 1)], pa.timestamp("us")
        )
        (tmp_path / "theirs").mkdir()
        pq.write_table(
            pa.table({"id": [1, 2, 3], "at": at}),
            tmp_path / "theirs" / "a.parquet",
            use_deprecated_int96_timestamps=True,
        )
        found = register(store, tmp_path / "theirs", "parquet").read().to_arrow().sort_by("id")
        assert found["at"].to_pylist() == at.to_pylist()


def test_a_text_that_is_none(store, tmp_path):
    bad = pa.array([b"\xff\xfe", b"a"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 2, bad.buffers())
    write("parquet", pa.table({"id": [1, 2], "s": texts}), tmp_path / "theirs" / "a.parquet")
    write("parquet", pa.table({"id": [3], "s": ["b"]}), tmp_path / "theirs" / "b.parquet")
    group = register(store, tmp_path / "theirs", "parquet")
    for condition in (None, group["s"] == "a"):
        with pytest.raises(hr.CorruptTable):
            group.read(filter=condition).to_arrow()
    assert values(group.read(["id"], group["id"] == 3), "id") == [3]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda f: write("parquet", pa.table({"id": ["x"]}), f / "b.parquet"), id="types"),
        pytest.param(
            lambda f: write("parquet", pa.table({"id": [1]}), f / "p=1" / "b.parquet"), id="partitions"
        ),
        pytest.param(
            lambda f: write("parquet", pa.table({"id": [1], "": [1]}), f / "b.parquet"), id="no name"
        ),
        pytest.param(lambda f: (f / "a.parquet").write_bytes(b"PAR1"), id="damaged"),
        pytest.param(shutil.rmtree, id="gone"),
    ],
)
def test_a_broken_one_hides_no_others(store, tmp_path, broken):
    store.create_feature_group("fine", primary_key=["id"]).insert([{"id": 1}])
    write("parquet", flights(0), tmp_path / "theirs" / "a.parquet")
    register(store, tmp_path / "theirs", "parquet")
    broken(tmp_path / "theirs")
    assert [group.name for group in store.list_feature_groups()] == ["fine", "flights"]
    store.delete_feature_group("flights", 1)


@pytest.mark.parametrize(
    ("options", "told", "hint"),
    [
        ({"primary_key": ["idd"]}, "'idd'", "it has id, at"),
        ({"event_time": "at"}, "'at' is string", "schema="),
    ],
)
def test_columns_that_do_not_do(store, tmp_path, options, told, hint):
    (tmp_path / "a.csv").write_text("id,at\n1,noon\n")
    with pytest.raises(hr.SchemaMismatch, match=told) as caught:
        register(store, tmp_path / "a.csv", "csv", **options)
    assert hint in caught.value.hint


def test_a_folder_of_a_name_that_is_not_read(store, tmp_path):
    with pytest.raises(hr.InvalidArgument, match=r"/what\?now' holds '\?'"):
        register(store, tmp_path / "what?now", "csv")


def test_a_location_that_is_a_path(store, tmp_path):
    write("csv", flights(0), tmp_path / "theirs" / "a.csv")
    group = store.register_feature_group("flights", tmp_path / "theirs", format="csv", primary_key=["id"])
    assert group.location == str(tmp_path / "theirs")


def test_one_folder_in_two_ways(store, tmp_path):
    write("parquet", flights(0), tmp_path / "theirs" / "a.parquet")
    write("csv", flights(10), tmp_path / "theirs" / "a.csv")
    groups = [register(store, tmp_path / "theirs", kind, name=kind) for kind in ("parquet", "csv")]
    assert [sorted(values(group.read(), "id")) for group in groups] == [[0, 1, 2], [10, 11, 12]]


def test_arrow_streams(store, tmp_path):
    (tmp_path / "theirs").mkdir()
    with pa.ipc.new_stream(str(tmp_path / "theirs" / "a.arrow"), flights(0).schema) as writer:
        writer.write_table(flights(0))
    assert register(store, tmp_path / "theirs", "arrow").read().to_arrow().num_rows == 3


def test_spark_times_in_parquet(store, tmp_path):
    (tmp_path / "theirs").mkdir()
    table = pa.table({"id": [1], "t": pa.array([dt.datetime(2026, 1, 1, 12)], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "theirs" / "a.parquet", use_deprecated_int96_timestamps=True)
    found = register(store, tmp_path / "theirs", "parquet").read().to_arrow()
    assert found["t"][0].as_py().replace(tzinfo=None) == dt.datetime(2026, 1, 1, 12)
