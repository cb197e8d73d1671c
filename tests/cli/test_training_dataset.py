"""`headrace td`: training datasets, from the command line."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import headrace as hr
from cli.helpers import Ran, at, headrace, on_terminal

Command = Callable[..., Ran]

FLIGHTS = [
    {"id": 1, "dep": at("10:30"), "origin": "007", "delay": 4},
    {"id": 2, "dep": at("11:30"), "origin": "007", "delay": -3},
    {"id": 3, "dep": at("12:30"), "origin": "7", "delay": 7},
]
SPINE = [
    {"id": 8, "dep": at("11:00"), "origin": "007", "delay": 1, "note": "late"},
    {"id": 9, "dep": at("10:00"), "origin": "7", "delay": None, "note": None},
]
CSV = "id,dep,origin,delay,note\n8,2013-01-01 11:00,007,1,late\n9,2013-01-01 10:00,7,,\n"


def arrow_stream() -> bytes:
    rows, sink = pa.Table.from_pylist(SPINE), io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return sink.getvalue()


FILES: dict[str, Callable[[Path], object]] = {
    "rows.csv": lambda path: path.write_text(CSV),
    "rows.jsonl": lambda path: path.write_text("".join(json.dumps(row, default=str) + "\n" for row in SPINE)),
    "rows.parquet": lambda path: pa.parquet.write_table(pa.Table.from_pylist(SPINE), path),
    "rows.arrow": lambda path: path.write_bytes(arrow_stream()),
}


@pytest.fixture
def view(own: hr.FeatureStore) -> hr.FeatureView:
    """`delays`, of which there is no training dataset yet."""
    weather = own.get_feature_group("weather")
    weather.insert([{"origin": "007", "seen": at("10:00"), "temp": 1.5}])
    flights = own.create_feature_group("flights", primary_key=["id"], event_time="dep")
    flights.insert(FLIGHTS)
    query = flights.select("id", "dep", "delay").join(weather.select("temp"), on="origin")
    return own.create_feature_view("delays", query, labels=["delay"])


def test_people_see_what_there_is(where: str, command: Command) -> None:
    names, _, *rows = command("td", "list", "delays", "--store", where).lines
    assert names.split() == ["version", "splits", "format", "created", "snapshots", "description"]
    assert [re.sub(r"20..-..-.. ..:..:..Z", "then", row).strip() for row in rows] == [
        "1   train 1, test 2   parquet   then   flights@v1 at 0, weather@v1 at 0   by time",
        "2   train 1, test 1   arrow     then   flights@v1 at 0, weather@v1 at 0",
    ]

    shown = command("td", "show", "delays@v1", "--version", 1, "--store", where).lines
    assert shown[:5] == [
        "view         delays@v1",
        "version      1",
        "description  by time",
        "tags         by=me",
        "format       parquet",
    ]
    assert shown[6] == "snapshots    flights@v1 at 0, weather@v1 at 0"
    assert shown[7].startswith("location     ")
    assert shown[8:] == [
        "",
        "split   rows   part",
        "─────────────────────────────────────",
        "train      1   ..2013-01-01T11:00:00Z",
        "test       2   2013-01-01T11:00:00Z..",
        "",
        "column    type                    role",
        "─────────────────────────────────────────",
        "id        int64                   feature",
        "dep       timestamp[us, tz=UTC]   feature",
        "delay     int64                   label",
        "wx_temp   double                  feature",
    ]
    newest = command("td", "show", "delays", "--store", where).lines
    assert [line.split() for line in newest if line.startswith(("version", "train"))] == [
        ["version", "2"],
        ["train", "1", "0.5"],
    ]


def test_programs_read_json(where: str, command: Command) -> None:
    listed = command("td", "list", "delays", "--json", "--store", where).json
    assert [dataset["version"] for dataset in listed] == [1, 2]
    told = command("td", "show", "delays", "--version", 1, "--json", "--store", where).json
    assert told == listed[0]
    assert Path(told.pop("location")).is_dir()
    assert told.pop("created").endswith("Z")
    eleven = "2013-01-01T11:00:00Z"
    assert told == {
        "view": "delays@v1",
        "version": 1,
        "description": "by time",
        "tags": {"by": "me"},
        "format": "parquet",
        "splits": [
            {"name": "train", "rows": 1, "fraction": None, "start": None, "end": eleven},
            {"name": "test", "rows": 2, "fraction": None, "start": eleven, "end": None},
        ],
        "snapshots": {"flights@v1": 0, "weather@v1": 0},
        "features": ["id", "dep", "wx_temp"],
        "labels": ["delay"],
        "columns": [
            {"name": "id", "type": "int64"},
            {"name": "dep", "type": "timestamp[us, tz=UTC]"},
            {"name": "delay", "type": "int64"},
            {"name": "wx_temp", "type": "double"},
        ],
    }
    drawn = {"fraction": 0.5, "start": None, "end": None}
    assert listed[1]["splits"] == [{"name": name, "rows": 1, **drawn} for name in ("train", "test")]


def test_rows_are_read(where: str, command: Command) -> None:
    read = ("td", "read", "delays", "--version", 1, "--json", "--store", where)
    rows = command(*read).json
    assert rows == [
        {"id": 1, "dep": "2013-01-01T10:30:00Z", "delay": 4, "wx_temp": 1.5},
        {"id": 2, "dep": "2013-01-01T11:30:00Z", "delay": -3, "wx_temp": 2.5},
        {"id": 3, "dep": "2013-01-01T12:30:00Z", "delay": 7, "wx_temp": None},
    ]
    assert command(*read, "--recompute").json == rows
    assert command(*read, "--split", "test").json == rows[1:]
    assert command(*read, "--split", "test", "--recompute", "--limit", 1).json == rows[1:2]
    columns = [{"delay": row["delay"], "id": row["id"]} for row in rows]
    assert command(*read, "--column", "delay", "--column", "id").json == columns
    assert command(*read, "--column", "delay, id", "--limit", 2).json == columns[:2]
    assert len(command("td", "read", "delays", "--json", "--store", where).json) == 2
    shown = command("td", "read", "delays", "--version", 1, "--column", "id", "--store", where).lines
    assert shown == ["id", "──", " 1", " 2", " 3"]


def test_rows_are_read_into_files(where: str, tmp_path: Path, command: Command) -> None:
    output = tmp_path / "test.parquet"
    read = ("td", "read", "delays", "--version", 1, "--split", "test", "--output", output, "--store", where)
    told = command(*read, "--json").json
    assert told == {"output": str(output), "rows": 2, "snapshots": {"flights@v1": 0, "weather@v1": 0}}
    assert pa.parquet.read_table(output)["id"].to_pylist() == [2, 3]
    assert command(*read).lines[0].startswith(f"{output}: 2 rows in ")


class TestCreate:
    def test_by_fractions(self, view: hr.FeatureView, on_own: Command) -> None:
        told = on_own(
            "td", "create", "delays", "--split", "train=0.67", "--split", "test=0.33", "--seed", "3", "--start",
            "2013-01-01", "--end", "2013-01-01T13:00Z", "--description", "first", "--tag", "by=me",
        )  # fmt: skip
        made = view.get_training_dataset()
        assert told.err == ""
        assert told.lines == ["training dataset 1 of delays@v1: train 2 rows, test 1 rows", made.location]
        assert (made.splits, made.description, made.tags) == (
            {"train": 0.67, "test": 0.33},
            "first",
            {"by": "me"},
        )
        _, test = view.train_test_split("2013-01-01", "2013-01-01T13:00Z", test_size=0.33, seed=3)
        assert made.read("test").to_arrow() == test.to_arrow()

    def test_by_times(self, view: hr.FeatureView, on_own: Command) -> None:
        told = on_own(
            "td", "create", "delays@v1", "--split", "train=..2013-01-01T11:00", "--format", "arrow", "--json",
            "--split", "test=2013-01-01T12:00+00:00..2014-01-01",
        ).json  # fmt: skip
        assert (told["format"], [split["rows"] for split in told["splits"]]) == ("arrow", [1, 1])
        assert told == on_own("td", "show", "delays", "--json").json
        assert view.get_training_dataset().read().to_arrow()["id"].to_pylist() == [1, 3]

    def test_of_a_column_with_its_shares(
        self, view: hr.FeatureView, own: hr.FeatureStore, on_own: Command
    ) -> None:
        flights = own.get_feature_group("flights")
        flights.insert([{**FLIGHTS[0], "id": number, "delay": number % 2} for number in range(20)])
        split = ("--split", "train=0.5", "--split", "test=0.5", "--stratify", "delay")
        assert on_own("td", "create", "delays", *split).code == 0
        for name in ("train", "test"):
            delays = view.get_training_dataset().read(name).to_arrow()["delay"].to_pylist()
            assert (delays.count(0), delays.count(1)) == (5, 5)

    def test_not_split(self, view: hr.FeatureView, on_own: Command) -> None:
        for version in (1, 2):
            told = on_own("td", "create", "delays").lines[0]
            assert told == f"training dataset {version} of delays@v1: all 3 rows"
        assert [dataset.splits for dataset in view.list_training_datasets()] == [{"all": 1.0}] * 2

    @pytest.mark.parametrize("name", FILES)
    def test_of_rows_of_a_file(
        self, view: hr.FeatureView, on_own: Command, tmp_path: Path, name: str
    ) -> None:
        """Texts are read as what the root group has: `007` is an origin, and no number."""
        FILES[name](tmp_path / name)
        assert on_own("td", "create", "delays", "--spine", tmp_path / name).code == 0
        made = view.get_training_dataset()
        names = ["id", "dep", "origin", "delay", "note", "temp"]
        assert made.read().to_arrow().select(names).to_pylist() == [
            {**SPINE[1], "temp": None},
            {**SPINE[0], "temp": 1.5},
        ]
        (note,) = (line for line in on_own("td", "show", "delays").lines if line.startswith("note"))
        assert note.split() == ["note", "string", "spine"]

    def test_of_rows_on_stdin(self, view: hr.FeatureView, tmp_path: Path) -> None:
        create = ("td", "create", "delays", "--spine", "-", "--json", "--store", tmp_path / "own")
        assert headrace(*create, stdin=arrow_stream()).json["splits"][0]["rows"] == 2
        assert headrace(*create, stdin=arrow_stream()[:-8]).error["code"] == "BAD_DATA"
        assert len(view.list_training_datasets()) == 1

    @pytest.mark.parametrize(
        ("options", "code", "told"),
        [
            (["--split", "train"], 2, "split 'train' is refused"),
            (["--split", "train=most"], 2, "split 'train=most' is refused"),
            (["--split", "train="], 2, "split 'train=' is refused"),
            (["--split", "train=80%"], 2, "split 'train=80%' is refused"),
            (["--split", "train=1.5"], 2, "train=1.5 is refused"),
            (["--split", "train=nan"], 2, "train=nan is refused"),
            (["--split", "train=0.5"], 2, "splits: the fractions add up to 0.5"),
            (["--split", "train=0.5", "--split", "train=0.5"], 2, "split 'train' is given twice"),
            (["--split", "=1"], 2, "'' cannot name a split"),
            (["--split", "Train=1"], 2, "'Train' cannot name a split"),
            (["--split", "a=0.5", "--split", "b=2013-01-01.."], 2, "splits: a is 0.5"),
            (["--split", "a=..soon"], 2, "splits: a='soon' is no time"),
            (["--split", "a=2013-01-02..2013-01-01"], 2, "splits: a begins at"),
            (["--split", "a=..2013-01-02", "--split", "b=2013-01-01.."], 2, "two parts share the rows"),
            (["--split", "a=..2013-01-02", "--start", "2013-01-01"], 2, "start and end are given"),
            (["--split", "a=0.5", "--split", "b=0.5", "--stratify", "nope"], 2, "stratify: the result has no column"),
            (["--seed", "3"], 2, "without splits nothing is drawn"),
            (["--seed", "some"], 2, "Invalid value for '--seed'"),
            (["--format", "orc"], 2, "Invalid value for '--format'"),
            (["--tag", "by"], 2, "tag 'by' is refused"),
            (["--start", "soon"], 2, "start='soon' is no time"),
            (["--spine", "none.csv"], 3, "cannot read none.csv"),
            (["--spine", "bad.csv"], 5, "bad.csv: column 'dep', row 1: 'soon' is no time"),
            (["--spine", "other.csv"], 2, "spine has no event time; flights@v1 calls it 'dep'"),
            (["--spine", "rows.txt"], 2, "rows.txt: rows are read from .parquet"),
        ],
    )  # fmt: skip
    def test_refused(
        self,
        view: hr.FeatureView,
        on_own: Command,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        options: list[str],
        code: int,
        told: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("bad.csv").write_text("dep,origin\n2013-01-01,7\nsoon,7\n")
        Path("other.csv").write_text("when,origin\n2013-01-01,7\n")
        Path("rows.txt").write_text("dep,origin\n")
        ran = on_own("td", "create", "delays", *options, "--json")
        assert (ran.code, ran.out) == (code, "")
        assert ran.error["message"].startswith(told)
        assert view.list_training_datasets() == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("read delays --split trian", 3, "NOT_FOUND: training dataset 2 of delays@v1 has no split 'trian'"),
        ("read delays --split trian --recompute", 3, "NOT_FOUND: training dataset 2 of delays@v1 has no split"),
        ("read delays --version 3", 3, "NOT_FOUND: project default has no training dataset 3 of delays@v1"),
        ("read delays --version 0", 2, "INVALID_ARGUMENT: Invalid value for '--version'"),
        ("read delays --column nope", 2, "UNKNOWN_COLUMN: training dataset 2 of delays@v1 has no column 'nope'"),
        ("read delays --column id,id", 2, "INVALID_ARGUMENT: columns="),
        ("read delays --column id --recompute", 2, "INVALID_ARGUMENT: --recompute gives all columns"),
        ("read delays --output rows.txt", 2, "INVALID_ARGUMENT: rows.txt: rows are written to"),
        ("read delays@v2", 3, "NOT_FOUND: project default has no feature view delays@v2"),
        ("list nope", 3, "NOT_FOUND: project default has no feature view nope"),
        ("list del*", 2, "INVALID_NAME: 'del*' cannot name a feature view"),
        ("show delays@1", 2, "INVALID_NAME: 'delays@1' is no reference"),
        ("show all_big", 3, "NOT_FOUND: project default has no training dataset of all_big@v1"),
        ("create nope", 3, "NOT_FOUND: project default has no feature view nope"),
        ("delete delays --version 3", 3, "NOT_FOUND: project default has no training dataset 3 of delays@v1"),
        ("delete delays", 2, "INVALID_ARGUMENT: Missing option '--version'."),
        ("list", 2, "INVALID_ARGUMENT: Missing argument 'VIEW'."),
    ],
)  # fmt: skip
def test_what_is_not_there(lake: Path, command: Command, arguments: str, code: int, told: str) -> None:
    ran = command("td", *arguments.split(), "--store", lake)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(told)


def test_delete(view: hr.FeatureView, own: hr.FeatureStore, on_own: Command) -> None:
    folders = [Path(view.create_training_dataset().location) for _ in range(4)]
    assert on_own("td", "delete", "delays", "--version", 2).lines == [
        "deleted training dataset 2 of delays@v1"
    ]
    told = on_own("td", "delete", "delays@v1", "--version", 3, "--json").json
    assert told == {"view": "delays@v1", "deleted": 3}
    assert [dataset.version for dataset in view.list_training_datasets()] == [1, 4]
    assert on_own("td", "delete", "delays", "--version", 3).code == 3

    needed = on_own("fv", "delete", "delays@v1")
    assert needed.code == 6
    assert needed.err.startswith("CONFLICT: feature view delays@v1 has training datasets: 1, 4\n")
    assert on_own("fg", "delete", "weather@v1", "--json").error["details"]["datasets"] == [
        "1 of delays@v1",
        "4 of delays@v1",
    ]
    assert on_own("fv", "delete", "delays@v1", "--force", "--json").json == {"deleted": "delays@v1"}
    assert own.list_feature_views() == []
    assert not any(folder.exists() for folder in folders)


def test_a_terminal_shows_the_work(view: hr.FeatureView, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(CSV)
    create = ("td", "create", "delays", "--spine", tmp_path / "rows.csv", "--store", tmp_path / "own")
    code, shown = on_terminal(*create)
    assert code == 0
    assert "store training data" in shown
    assert "training dataset 1 of delays@v1: all 2 rows" in shown
    code, shown = on_terminal(*create, "--json")
    assert (code, json.loads(shown)["version"]) == (0, 2)
    ran = headrace(*create)
    assert (ran.err, ran.lines[0]) == ("", "training dataset 3 of delays@v1: all 2 rows")
