"""The whole demo, as a user runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import headrace as hr
from headrace.demo import run_demo
from headrace.demo.folder import clear_folder


def start(root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "headrace", "demo", "--root", str(root), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def services(root: Path) -> list[psutil.Process]:
    """The services of this demo that run."""
    return [
        p for p in psutil.process_iter(["cmdline"]) if {"serve", str(root)} <= set(p.info["cmdline"] or ())
    ]


def wait_for_service(root: Path, demo: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not services(root):
        assert demo.poll() is None, demo.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_whole_run(tmp_path: Path) -> None:
    """In the folder that an earlier run left behind."""
    root = tmp_path / "lake"
    clear_folder(root)
    with hr.connect(root, project="demo") as fs:
        fs.create_feature_group("flights", primary_key=["something_else"])
    (root / "left-behind").mkdir()

    demo = start(root)
    out, err = demo.communicate(timeout=300)
    assert demo.returncode == 0, err.decode()
    assert not (root / "left-behind").exists()
    assert services(root) == []

    report = json.loads(out)
    check_steps(report)
    check_matches(report)
    check_errors(report)
    check_first_rows(report)
    assert report["checked"] == 500
    assert Path(report["plot"]).read_bytes().startswith(b"\x89PNG")
    with hr.connect(report["root"], project="demo") as fs:
        assert {group.name for group in fs.list_feature_groups()} == {"flights", "weather", "plane_legs"}
        assert fs.get_feature_view("delays").labels == ("arr_delay",)


def check_steps(report: dict[str, Any]) -> None:
    rows = {step["name"]: step["rows"] for step in report["steps"]}
    assert rows["write flights"] == rows["read the training set"] == 336_776
    assert rows["write weather"] == 26_115
    assert rows["write plane_legs"] == 327_345
    for step in report["steps"]:
        assert step["seconds"] > 0
        assert step["rows_per_second"] == pytest.approx(step["rows"] / step["seconds"])
    assert report["seconds"] >= sum(step["seconds"] for step in report["steps"])


def check_matches(report: dict[str, Any]) -> None:
    weather, legs = report["matches"]
    assert (weather["group"], legs["group"]) == ("weather", "plane_legs")
    assert (weather["matched"], legs["matched"]) == (335_875, 330_139)
    assert weather["match_rate"] == pytest.approx(335_875 / 336_776)
    assert weather["age_median"] == 24 * 60
    assert weather["age_max"] <= 2 * 3600
    assert legs["age_median"] < legs["age_p95"] < legs["age_max"]


def check_errors(report: dict[str, Any]) -> None:
    """The model is better than the naive answers, each month."""
    assert [error["month"] for error in report["errors"]] == ["October", "November", "December", None]
    for error in report["errors"]:
        assert error["model"] < error["median"] < error["last_leg"]


def check_first_rows(report: dict[str, Any]) -> None:
    assert len(report["first_rows"]) == 5
    for row in report["first_rows"]:
        assert row["sched_dep"] >= (row["wx_observed_at"] or "")
        assert row["sched_dep"] >= (row["prev_landed_at"] or "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ending_it_ends_its_service(tmp_path: Path, number: signal.Signals) -> None:
    root = tmp_path / "lake"
    demo = start(root)
    wait_for_service(root, demo)
    demo.send_signal(number)
    demo.communicate(timeout=120)
    assert demo.returncode != 0
    assert services(root) == []


class TestFolder:
    def test_a_folder_that_no_demo_made_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.txt").write_text("years of work")
        with pytest.raises(hr.InvalidArgument, match="no earlier demo made it"):
            run_demo(tmp_path)
        assert (tmp_path / "thesis.txt").read_text() == "years of work"

    def test_a_file_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("here")
        with pytest.raises(hr.InvalidArgument):
            clear_folder(tmp_path / "file")
        assert (tmp_path / "file").read_text() == "here"

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        clear_folder(tmp_path / "lake")
        (tmp_path / "link").symlink_to(tmp_path / "lake")
        with pytest.raises(hr.InvalidArgument):
            clear_folder(tmp_path / "link")

    def test_what_a_link_inside_points_to_is_left_alone(self, tmp_path: Path) -> None:
        clear_folder(tmp_path / "lake")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "file").touch()
        (tmp_path / "lake" / "link").symlink_to(tmp_path / "mine")
        clear_folder(tmp_path / "lake")
        assert (tmp_path / "mine" / "file").exists()

    def test_missing_empty_and_own_folders_become_empty(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        for name in ("missing/deep", "empty"):
            clear_folder(tmp_path / name)
            (tmp_path / name / "junk").touch()
            clear_folder(tmp_path / name)
            assert [entry.name for entry in (tmp_path / name).iterdir()] == [".headrace-demo"]


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(hr.MissingDependency, match="pip install scikit-learn matplotlib"):
        run_demo(tmp_path / "lake")
    assert not (tmp_path / "lake").exists()
