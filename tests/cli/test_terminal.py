"""What a terminal shows: colours and progress, which a file never gets."""

from __future__ import annotations

import re
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet
import pytest

import headrace as hr
from cli.helpers import BIG, at, headrace, on_terminal


def test_errors_are_coloured_on_a_terminal_alone(lake: Path) -> None:
    code, shown = on_terminal("fg", "show", "nothing", "--store", lake)
    assert code == 3
    assert "\x1b[1;31mNOT_FOUND\x1b[0m" in shown
    assert "\x1b" not in headrace("fg", "show", "nothing", "--store", lake).err


def test_a_wide_table_is_cut_to_the_terminal(lake: Path) -> None:
    code, shown = on_terminal("fg", "preview", "wide", "--store", lake, columns=60)
    assert code == 0
    assert "\x1b[31m" not in shown  # the data's own colour
    table, note = re.sub(r"\x1b\[[0-9;]*m|\r", "", shown).split("columns left out: ")
    assert all(len(line) <= 60 for line in table.splitlines())
    assert note.split()[0] == "c4,"


@pytest.mark.slow
def test_progress_counts_rows(lake: Path, tmp_path: Path) -> None:
    output = tmp_path / "big.parquet"
    code, shown = on_terminal("fv", "read", "all_big", "--output", output, "--store", lake)
    assert code == 0
    assert " rows" in shown.split(str(output))[0]
    assert f"{BIG:,} rows in" in shown
    assert "rows/s" in shown
    assert pa.parquet.read_metadata(output).num_rows == BIG

    with hr.connect(tmp_path / "own") as fs:
        fs.create_feature_group("copy", primary_key=["id"], event_time="seen")
    code, shown = on_terminal("fg", "insert", "copy", output, "--mode", "append", "--store", tmp_path / "own")
    assert code == 0
    assert "commit" in shown
    assert f"read {BIG:,} rows in" in shown


def test_a_file_gets_no_progress(lake: Path, tmp_path: Path) -> None:
    ran = headrace("fv", "read", "all_big", "--output", tmp_path / "big.arrow", "--store", lake)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.lines) == 1


def test_a_group_is_deleted_on_a_terminal_only_by_a_yes(tmp_path: Path) -> None:
    with hr.connect(tmp_path / "lake") as store:
        store.create_feature_group("weather", primary_key=["id"])
        named = ("weather@v1", "--store", tmp_path / "lake")
        code, shown = on_terminal("fg", "delete", *named, said="n\n")
        assert (code, "all its rows" in shown) == (130, True)
        assert len(store.list_feature_groups()) == 1
        code, shown = on_terminal("fg", "delete", *named, "--yes")
        assert (code, "all its rows" in shown) == (0, False)
        assert store.list_feature_groups() == []


def test_an_adopted_table_is_not_said_to_be_deleted(tmp_path: Path) -> None:
    deltalake.write_deltalake(str(tmp_path / "theirs"), pa.table({"id": [1]}))
    with hr.connect(tmp_path / "lake") as store:
        store.register_feature_group("theirs", str(tmp_path / "theirs"), format="delta", primary_key=["id"])
        code, shown = on_terminal("fg", "delete", "theirs@v1", "--store", tmp_path / "lake", said="y\n")
        assert (code, "Delete theirs@v1, and leave its table?" in shown) == (0, True)
        assert store.list_feature_groups() == []
    assert deltalake.DeltaTable(str(tmp_path / "theirs")).to_pyarrow_table().num_rows == 1


@pytest.mark.slow
def test_training_datasets_are_deleted_on_a_terminal_only_by_a_yes(tmp_path: Path) -> None:
    with hr.connect(tmp_path / "lake") as store:
        group = store.create_feature_group("numbers", primary_key=["id"], event_time="seen")
        group.insert([{"id": 1, "seen": at("10:00")}, {"id": 2, "seen": at("11:00")}])
        view = store.create_feature_view("view", group.select("id"))
        for _ in range(3):
            view.create_training_dataset()
        here = ("--store", tmp_path / "lake")
        first = ("td", "delete", "view", "--version", "1", *here)
        code, shown = on_terminal(*first, said="n\n")
        assert (code, "Delete training dataset 1 of view@v1 with its 2 rows?" in shown) == (130, True)
        code, shown = on_terminal("td", "delete", "view", "--version", "7", *here)
        assert (code, "Delete" in shown) == (3, False)
        assert on_terminal(*first, said="y\n")[0] == 0
        code, shown = on_terminal("td", "delete", "view", "--version", "2", "--yes", *here)
        assert (code, "Delete" in shown) == (0, False)
        assert [dataset.version for dataset in view.list_training_datasets()] == [3]

        code, shown = on_terminal("fv", "delete", "view@v1", *here)
        assert (code, "Delete" in shown) == (6, False)
        code, shown = on_terminal("fv", "delete", "view@v1", "--force", *here, said="n\n")
        assert (code, "Delete view@v1 with its training datasets: 3?" in shown) == (130, True)
        code, shown = on_terminal("fv", "delete", "view@v2", "--force", *here)
        assert (code, "Delete" in shown) == (3, False)
        code, shown = on_terminal("fv", "delete", "view@v1", "--force", "--yes", *here)
        assert (code, "Delete" in shown) == (0, False)
        assert store.list_feature_views() == []
