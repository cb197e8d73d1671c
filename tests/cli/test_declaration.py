"""`headrace fg register`, `create-external` and `add-features`: what a feature group is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import headrace as hr
from cli.helpers import Ran, at
from conftest import Server
from headrace.cli.arrow_type import features_in

Command = Callable[..., Ran]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table that no feature group knows."""
    rows = {"origin": ["JFK", "LGA"], "seen": [at("10:00"), at("11:00")], "temp": [1.5, 2.5], "made": [1, 2]}
    deltalake.write_deltalake(str(tmp_path / "theirs"), pa.table(rows))
    return tmp_path / "theirs"


KEYS = ("--primary-key", "origin", "--event-time", "seen")


class TestRegister:
    def test_what_is_declared(self, own: hr.FeatureStore, on_own: Command, table: Path) -> None:
        told = on_own(
            "fg", "register", "theirs@v2", table, *KEYS, "--ttl", "90m", "--min-age", "1m", "--tie-breaker", "made",
            "--format", "delta", "--description", "of others", "--tag", "by=them", "--json",
        ).json  # fmt: skip
        expected = {
            "name": "theirs", "version": 2, "primary_key": ["origin"], "event_time": "seen", "created_time": None,
            "ttl": "90m", "min_age": "1m", "tie_breaker": "made", "event_time_unit": None, "description": "of others",
            "tags": {"by": "them"}, "format": "delta", "location": str(table), "adopted": True, "change_feed": False,
        }  # fmt: skip
        assert expected.items() <= told.items()
        assert [column["name"] for column in told["columns"]] == ["origin", "seen", "temp", "made"]
        assert own.get_feature_group("theirs").read().to_arrow().num_rows == 2

    def test_times_by_name_and_unit(self, on_own: Command, table: Path) -> None:
        told = on_own(
            "fg", "register", "theirs", table, "--primary-key", "origin", "--event-time", "made",
            "--event-time-unit", "s", "--created-time", "seen", "--json",
        ).json  # fmt: skip
        assert (told["event_time_unit"], told["created_time"]) == ("s", "seen")

    def test_people_see_that_it_stays(self, on_own: Command, table: Path) -> None:
        shown = on_own("fg", "register", "theirs", table, *KEYS).lines
        assert "adopted      yes, a delete leaves the table" in shown
        assert on_own("fg", "delete", "theirs@v1").lines == ["deleted theirs@v1"]
        assert deltalake.DeltaTable(str(table)).to_pyarrow_table().num_rows == 2

    def test_a_folder_as_seen_from_here(
        self, on_own: Command, table: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(table.parent)
        for name, location in (("a", "theirs"), ("b", "./own/../theirs/"), ("c", str(table))):
            told = on_own("fg", "register", name, location, *KEYS, "--json").json
            assert told["location"] == str(table)

    def test_of_a_service_only_where_it_is_there(
        self, serve: Callable[..., Server], command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(table.parent)
        service = serve().url
        refused = command("fg", "register", "a", "theirs", *KEYS, "--json", "--store", service)
        assert (refused.code, refused.error["code"]) == (2, "INVALID_ARGUMENT")
        assert refused.error["message"] == "location='theirs' is no absolute path"
        told = command("fg", "register", "a", table, *KEYS, "--json", "--store", service).json
        assert (told["location"], told["adopted"]) == (str(table), True)

    @pytest.mark.parametrize(
        ("arguments", "code", "told"),
        [
            (["theirs"], 2, "Missing option '--primary-key'."),
            (["", *KEYS], 2, "location='' is no absolute path"),
            (
                ["ftp://host/theirs", *KEYS],
                2,
                "location='ftp://host/theirs' is a URI of a kind that is not known: ftp",
            ),
            (["nowhere", *KEYS], 3, "there is no Delta table at "),
            (["own/default", *KEYS], 2, "{}/own/default is inside the store"),
            (["theirs", *KEYS, "--format", "iceberg"], 2, "Invalid value for '--format'"),
            (["theirs", *KEYS, "--event-time-unit", "h"], 2, "Invalid value for '--event-time-unit'"),
            (["theirs", *KEYS, "--ttl", "soon"], 2, "ttl='soon' is no duration"),
            (["theirs", *KEYS, "--tag", "x"], 2, "tag 'x' is refused"),
            (["theirs", "--primary-key", "nope"], 5, "theirs: the table has no column 'nope'"),
            (
                ["theirs", "--primary-key", "origin", "--event-time", "temp"],
                5,
                "theirs: event time 'temp' is double",
            ),
        ],
    )
    def test_refused(
        self,
        own: hr.FeatureStore,
        on_own: Command,
        table: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        code: int,
        told: str,
    ) -> None:
        monkeypatch.chdir(table.parent)
        ran = on_own("fg", "register", "theirs", *arguments, "--json")
        assert (ran.code, ran.out) == (code, "")
        assert ran.error["message"].startswith(told.format(table.parent))
        assert [group.name for group in own.list_feature_groups()] == ["weather"]

    def test_a_name_that_is_taken(self, on_own: Command, table: Path) -> None:
        assert on_own("fg", "register", "theirs@v1", table, *KEYS).code == 0
        assert on_own("fg", "register", "theirs@v1", table, *KEYS).code == 6
        assert "this is version 2" in on_own("fg", "register", "theirs", table, *KEYS).err


class TestRegisterFiles:
    def test_csv(self, on_own: Command, tmp_path: Path) -> None:
        (tmp_path / "fares").mkdir()
        (tmp_path / "fares" / "a.csv").write_text("zip,fare\n00501,12.5\n")
        given = (
            "fg",
            "register",
            "fares",
            tmp_path / "fares",
            "--primary-key",
            "zip",
            "--format",
            "csv",
            "--json",
        )
        told = on_own(*given, "--type", "zip=string", "--type", "fare=float32").json
        assert told["columns"] == [{"name": "zip", "type": "string"}, {"name": "fare", "type": "float"}]
        assert on_own("fg", "preview", "fares", "--json").json == [{"zip": "00501", "fare": 12.5}]
        assert on_own("fg", "show", "fares", "--json").json["newest_commit"]["operation"] == "FILES"
        assert on_own(*given, "--type", "zip").error["code"] == "INVALID_ARGUMENT"


class TestCreateExternal:
    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        with sqlite3.connect(tmp_path / "planes.db") as connection:
            connection.executescript(
                "CREATE TABLE planes (tailnum TEXT, seats INTEGER, seen TIMESTAMP);"
                "INSERT INTO planes VALUES ('N1', 100, '2013-01-01 10:00:00')"
            )
        return tmp_path / "planes.db"

    def test_a_table(self, on_own: Command, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(database.parent)
        told = on_own(
            "fg", "create-external", "planes@v2", "--driver", "sqlite", "--uri", "file:planes.db", "--table", "planes",
            "--primary-key", "tailnum", "--event-time", "seen", "--ttl", "30d", "--json",
        ).json  # fmt: skip
        expected = {
            "name": "planes", "version": 2, "primary_key": ["tailnum"], "event_time": "seen", "ttl": "30d",
            "format": "external", "location": f"planes in sqlite (file:{database})", "adopted": True,
        }  # fmt: skip
        assert expected.items() <= told.items()
        assert [column["name"] for column in told["columns"]] == ["tailnum", "seats", "seen"]
        assert on_own("fg", "preview", "planes", "--json").json[0]["seats"] == 100
        assert on_own("fg", "show", "planes", "--json").json["rows"] is None
        assert f"location     planes in sqlite (file:{database})" in on_own("fg", "show", "planes").lines
        assert on_own("fg", "list", "--json").json[0]["name"] == "planes"

    def test_a_query(self, on_own: Command, database: Path) -> None:
        told = on_own(
            "fg", "create-external", "planes", "--driver", "sqlite", "--uri", f"file:{database}",
            "--query", "SELECT tailnum, seats * 2 AS twice FROM planes", "--primary-key", "tailnum", "--json",
        ).json  # fmt: skip
        assert [column["name"] for column in told["columns"]] == ["tailnum", "twice"]

    def test_refused(self, on_own: Command, database: Path) -> None:
        given = (
            "fg",
            "create-external",
            "planes",
            "--driver",
            "sqlite",
            "--primary-key",
            "tailnum",
            "--json",
        )
        refused = on_own(*given, "--uri", "postgresql://me:hush@host/db", "--table", "planes")
        assert (refused.code, refused.error["code"]) == (2, "INVALID_ARGUMENT")
        assert "hush" not in refused.err
        missing = on_own(*given, "--uri", f"file:{database}", "--table", "ghosts")
        assert missing.error["code"] == "NOT_FOUND"
        assert on_own(*given, "--uri", f"file:{database}").error["code"] == "INVALID_ARGUMENT"


class TestAddFeatures:
    @pytest.fixture
    def group(self, own: hr.FeatureStore) -> hr.FeatureGroup:
        group = own.get_feature_group("weather")
        schema = pa.schema({"origin": pa.string(), "seen": pa.timestamp("us", "UTC"), "n": pa.int32()})
        group.insert(pa.Table.from_pylist([{"origin": "JFK", "seen": at("10:00"), "n": 7}], schema))
        return group

    def test_new_ones_and_wider_ones(self, group: hr.FeatureGroup, on_own: Command) -> None:
        assert on_own("fg", "add-features", "weather", "wind=double", "price=decimal(10,2)").lines == [
            "weather@v1 at snapshot 1: wind double, price decimal128(10, 2)"
        ]
        told = on_own("fg", "add-features", "weather@v1", "n=int64", "code=uint16", "--json").json
        assert (told["feature_group"], told["snapshot"], told["operation"]) == (
            "weather@v1",
            2,
            "CHANGE COLUMN",
        )
        assert told["columns"] == [{"name": "n", "type": "int64"}, {"name": "code", "type": "int32"}]
        assert group.schema is not None
        assert group.schema.names == ["origin", "seen", "n", "wind", "price", "code"]
        (row,) = group.read().to_arrow().to_pylist()
        assert (row["n"], row["wind"]) == (7, None)

    def test_again_changes_nothing(self, group: hr.FeatureGroup, on_own: Command) -> None:
        on_own("fg", "add-features", "weather", "wind=double")
        assert on_own("fg", "add-features", "weather", "wind=float64").lines == [
            "weather@v1 at snapshot 1: nothing to change, wind double"
        ]
        assert on_own("fg", "add-features", "weather", "wind=double", "--json").json["operation"] == "NONE"

    @pytest.mark.parametrize(
        ("features", "code", "told"),
        [
            (["wind"], 2, "feature 'wind' is refused"),
            (["wind=fast"], 2, "feature 'wind': 'fast' is no type that is known"),
            (["wind="], 2, "feature 'wind': '' is no type"),
            (["wind=list<item: double>"], 2, "feature 'wind': 'list<item: double>' is no type"),
            (["wind=decimal128(99, 2)"], 2, "feature 'wind': 'decimal128(99, 2)' is no type"),
            (["wind=timestamp[days]"], 2, "feature 'wind': 'timestamp[days]' is no type"),
            (["wind=double", "wind=string"], 2, "feature 'wind' is given twice"),
            (["=double"], 2, ""),
            ([], 2, "Missing argument 'COLUMN=TYPE...'."),
            (["n=string"], 5, "weather@v1: column 'n' is int32, which string does not hold safely"),
            (["wind=time32[s]"], 5, "weather@v1: column 'wind' is time32[s], which cannot be stored"),
        ],
    )
    def test_refused(
        self, group: hr.FeatureGroup, on_own: Command, features: list[str], code: int, told: str
    ) -> None:
        ran = on_own("fg", "add-features", "weather", *features, "--json")
        assert (ran.code, ran.out) == (code, "")
        assert ran.error["message"].startswith(told)
        assert len(group.history()) == 1

    def test_what_is_known_is_named(self, group: hr.FeatureGroup, on_own: Command) -> None:
        assert "known are bool, int8 to int64" in on_own("fg", "add-features", "weather", "wind=fast").err

    def test_before_there_are_columns(self, own: hr.FeatureStore, on_own: Command) -> None:
        assert on_own("fg", "add-features", "weather", "wind=double").code == 2
        assert on_own("fg", "add-features", "nope", "wind=double").code == 3


@pytest.mark.parametrize(
    "kind",
    [
        pa.bool_(), pa.int8(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(),
        pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("s", "+02:00"), pa.decimal128(10, 2),
        pa.decimal128(38, 0),
    ],
)  # fmt: skip
def test_types_are_read_as_they_are_shown(kind: pa.DataType) -> None:
    assert features_in([f"column={kind}"]) == {"column": kind}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("float64", pa.float64()), ("double", pa.float64()), ("float", pa.float32()), ("float32", pa.float32()),
        ("bool", pa.bool_()), ("date32", pa.date32()), ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp[ms,tz=UTC]", pa.timestamp("ms", "UTC")), ("decimal(5,1)", pa.decimal128(5, 1)),
        ("decimal128(7)", pa.decimal128(7, 0)), (" int64 ", pa.int64()),
    ],
)  # fmt: skip
def test_other_spellings(text: str, kind: pa.DataType) -> None:
    assert features_in([f"column={text}"]) == {"column": kind}
