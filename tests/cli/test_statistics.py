"""`headrace fg stats`: figures and histograms, for people, for programs and as a picture."""

from __future__ import annotations

import datetime as dt
import importlib.abc
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.image import imread

import headrace as hr
from cli.helpers import Ran, on_terminal

Command = Callable[..., Ran]

ROWS = 2_000
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def group(own: hr.FeatureStore) -> hr.FeatureGroup:
    made = own.create_feature_group("numbers", primary_key=["id"])
    made.insert(
        pa.table(
            {
                "id": range(ROWS),
                "rising": pa.array(np.repeat(np.arange(20.0), 100) + np.tile(np.arange(100) / 200, 20)),
                "kind": [None if i % 10 == 0 else "aab"[i % 3] for i in range(ROWS)],
                "at": [START + dt.timedelta(hours=i) for i in range(ROWS)],
                "price": [Decimal(i) / 4 for i in range(ROWS)],
                "of $x$_{": ["$\\frac{" if i % 2 else "\x1b[31mred\n" for i in range(ROWS)],
                "close": [2**60 + i for i in range(ROWS)],
                "list": [[i] for i in range(ROWS)],
            }
        )
    )
    return made


def row_of(lines: list[str], feature: str) -> list[str]:
    (line,) = (line for line in lines if line.startswith(f"{feature} "))
    return line.split()


class TestTable:
    def test_figures(self, group: hr.FeatureGroup, on_own: Command) -> None:
        lines = on_own("fg", "stats", "numbers").lines
        assert lines[0] == "numbers@v1 at snapshot 0"
        assert lines[1].split()[:9] == [
            "feature",
            "histogram",
            "count",
            "nulls",
            "distinct",
            "min",
            "p50",
            "max",
            "mean",
        ]
        told = row_of(lines, "rising")
        assert told[1:4] == ["█" * 20, "2,000", "0"]
        assert told[4].startswith("~")
        assert (told[5], told[7], told[8]) == ("0", "19.495", "9.7475")
        assert told[6].startswith("~9.")
        assert row_of(lines, "kind")[1:] == ["█▄", "1,800", "200", "2", "a", "b"]
        assert row_of(lines, "list")[1:] == ["2,000", "0"]
        assert "2026-01-01 00:00:00Z" in "\n".join(lines)
        assert "\x1b" not in "\n".join(lines)

    def test_some_columns(self, group: hr.FeatureGroup, on_own: Command) -> None:
        for given in (["--column", "kind, id"], ["--column", "kind", "--column", "id"]):
            lines = on_own("fg", "stats", "numbers@v1", *given).lines
            assert [line.split()[0] for line in lines[3:]] == ["kind", "id"]

    def test_a_histogram_is_as_high_as_its_counts(self, own: hr.FeatureStore, on_own: Command) -> None:
        group = own.create_feature_group("steps", primary_key=["id"])
        group.insert(pa.table({"id": range(36), "v": [n for n in range(1, 9) for _ in range(n)]}))
        assert row_of(on_own("fg", "stats", "steps", "--column", "v").lines, "v")[1] == "▁▂▃▄▅▆▇█"

    def test_an_older_snapshot(self, group: hr.FeatureGroup, on_own: Command) -> None:
        group.delete(filter=group["id"] >= 10)
        assert row_of(on_own("fg", "stats", "numbers").lines, "id")[2] == "10"
        old = on_own("fg", "stats", "numbers", "--snapshot", 0).lines
        assert (old[0], row_of(old, "id")[2]) == ("numbers@v1 at snapshot 0", "2,000")

    def test_a_terminal_is_told_what_is_left_out(self, group: hr.FeatureGroup, tmp_path: Path) -> None:
        code, shown = on_terminal(
            "fg", "stats", "numbers", "--column", "rising", "--store", tmp_path / "own", columns=60
        )
        assert code == 0
        assert "columns left out: " in shown
        assert "█" * 20 in shown

    def test_no_rows(self, own: hr.FeatureStore, on_own: Command) -> None:
        own.create_feature_group("none", primary_key=["id"], schema=pa.schema({"id": pa.int64()}))
        assert row_of(on_own("fg", "stats", "none").lines, "id") == ["id", "0", "0", "0"]
        assert on_own("fg", "stats", "weather").code == 5


def test_programs_get_the_rows(where: str, command: Command) -> None:
    rows = command("fg", "stats", "weather", "--json", "--store", where).json
    assert [row["feature"] for row in rows] == ["origin", "seen", "temp"]
    assert rows[2].items() >= {"count": 2, "nulls": 1, "min": "1.5", "max": "2.5", "mean": 2.0}.items()
    assert rows[2]["histogram"] == [{"low": v, "high": v, "count": 1} for v in ("1.5", "2.5")]
    assert "p50" in rows[2]["approximate"]


class TestPlot:
    def test_a_picture(self, group: hr.FeatureGroup, on_own: Command, tmp_path: Path) -> None:
        told = on_own("fg", "stats", "numbers", "--plot", tmp_path / "numbers.png")
        assert (told.err, told.lines[-1]) == ("", f"{tmp_path / 'numbers.png'}: 7 histograms")
        whole = imread(tmp_path / "numbers.png")
        assert (np.ptp(whole[..., :3]), whole.shape[1] > 1000) == (pytest.approx(1, abs=0.05), True)

        rows = on_own(
            "fg", "stats", "numbers", "--column", "at", "--plot", tmp_path / "at.PNG", "--json"
        ).json
        assert [row["feature"] for row in rows] == ["at"]
        one = imread(tmp_path / "at.PNG")
        assert one.shape[0] < whole.shape[0] / 2
        assert sorted(path.name for path in tmp_path.iterdir()) == ["at.PNG", "numbers.png", "own"]

    def test_characters_without_a_glyph(self, own: hr.FeatureStore, on_own: Command, tmp_path: Path) -> None:
        own.create_feature_group("odd", primary_key=["名前"]).insert([{"名前": "日本"}, {"名前": ""}])
        assert on_own("fg", "stats", "odd", "--plot", tmp_path / "odd.png").err == ""

    @pytest.mark.parametrize(
        ("arguments", "code", "told"),
        [
            ("numbers --plot x.pdf", 2, "x.pdf: histograms are drawn into .png files"),
            ("numbers --plot none/x.png", 2, "cannot write none/x.png: No such file or directory"),
            ("numbers --plot own.png", 2, "cannot write own.png: Is a directory"),
            ("numbers --column list --plot x.png", 2, "0 features have a histogram"),
            ("many --plot x.png", 2, "121 features have a histogram"),
            ("numbers --column nope", 2, "feature group numbers@v1 has no column 'nope'"),
            ("numbers --column id,id", 2, ""),
            ("numbers --snapshot 7", 3, "numbers@v1: there is no snapshot 7"),
            ("numbers --snapshot -1", 2, "Invalid value for '--snapshot'"),
            ("nope", 3, "project default has no feature group nope"),
            ("numbers@1", 2, "'numbers@1' is no reference"),
        ],
    )
    def test_refused(
        self,
        group: hr.FeatureGroup,
        own: hr.FeatureStore,
        on_own: Command,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: str,
        code: int,
        told: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("own.png").mkdir()
        if arguments.startswith("many"):
            own.create_feature_group("many", primary_key=["c0"]).insert([{f"c{i}": i for i in range(121)}])
        ran = on_own("fg", "stats", *arguments.split(), "--json")
        assert (ran.code, ran.out) == (code, "")
        assert ran.error["message"].startswith(told)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "own.png"]

    def test_without_matplotlib(
        self, group: hr.FeatureGroup, on_own: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [
            n for n in sys.modules if n.split(".")[0] == "matplotlib" or n == "headrace.cli.histograms"
        ]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [_Missing(), *sys.meta_path])
        told = on_own("fg", "stats", "numbers", "--plot", tmp_path / "x.png")
        assert (told.code, told.out) == (1, "")
        assert told.err.startswith("MISSING_DEPENDENCY: matplotlib is not installed")
        assert "hint: pip install matplotlib" in told.err
        assert on_own("fg", "stats", "numbers").code == 0


class _Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, *_: object) -> None:
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
