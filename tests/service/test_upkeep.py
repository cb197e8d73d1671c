"""Compactions of one table at once, in one process and in several."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake.table import TableOptimizer

import headrace as hr


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hr.FeatureStore]:
    with hr.connect(tmp_path / "lake") as opened:
        group = opened.create_feature_group("numbers", primary_key=["id"])
        for start in range(0, 40, 10):
            group.insert(pa.table({"id": range(start, start + 10)}), mode="append")
        yield opened


@pytest.mark.parametrize("zorder", [(), ("id",)])
@pytest.mark.parametrize("same", [True, False], ids=["one store", "two"])
def test_two_at_once(
    store: hr.FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zorder: Any, same: bool
) -> None:
    """Deltalake lets both commit, and each row is there twice."""
    begun, go = threading.Event(), threading.Event()
    for name in ("compact", "z_order"):
        run = getattr(TableOptimizer, name)

        def waiting(*arguments: Any, run: Any = run, **options: Any) -> Any:
            begun.set()
            assert go.wait(60)
            return run(*arguments, **options)

        monkeypatch.setattr(TableOptimizer, name, waiting)
    with hr.connect(tmp_path / "lake") as second, ThreadPoolExecutor(2) as threads:
        groups = [store.get_feature_group("numbers")] * 2
        if not same:
            groups[1] = second.get_feature_group("numbers")
        first = threads.submit(groups[0].compact, zorder=zorder)
        assert begun.wait(60)
        other = threads.submit(groups[1].compact)
        wait([other], timeout=0.5)
        groups[0].insert(pa.table({"id": [100]}), mode="append")
        go.set()
        assert first.result(60).operation == "OPTIMIZE"
        assert other.result(60).operation == "OPTIMIZE"
    rows = groups[0].read().to_arrow()["id"].to_pylist()
    assert sorted(rows) == [*range(40), 100]
    assert groups[0].compact().operation == "NONE"
