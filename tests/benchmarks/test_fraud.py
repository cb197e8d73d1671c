"""The tutorial's model is a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import data, fraud

pytestmark = pytest.mark.slow


def test_it_finds_frauds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.metrics import average_precision_score

    monkeypatch.setattr(data, "DATA", tmp_path)
    tables = fraud.tables_of(20_000)
    with fraud.Train(tables).opened() as staged, staged.stage(0) as stage:
        found = stage.answer(stage.job())
    frauds = found["is_fraud"].to_numpy()
    assert 0.003 < frauds.mean() < 0.03
    assert average_precision_score(frauds, found["sure"].to_numpy()) > 20 * frauds.mean()
