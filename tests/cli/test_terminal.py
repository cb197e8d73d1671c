"""What a terminal shows: colours and progress, which a file never gets."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

import headrace as hr
from cli.helpers import BIG, headrace, on_terminal


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
