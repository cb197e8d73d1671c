"""The demo's data, and its training set from an embedded store, made once."""

from __future__ import annotations

import pandas as pd
import pytest

import headrace as hr
from headrace.demo.data import Frames, Source, load, prepare
from headrace.demo.steps import Steps


@pytest.fixture(scope="session")
def source() -> Source:
    return load()


@pytest.fixture(scope="session")
def frames(source: Source) -> Frames:
    return prepare(source)


@pytest.fixture(scope="session")
def training(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    from headrace.demo.run import create_view, read, write_groups  # and scikit-learn, for seconds

    with hr.connect(tmp_path_factory.mktemp("demo") / "lake", project="demo") as fs, Steps(None) as steps:
        write_groups(fs, frames, steps)
        return read(create_view(fs), lambda rows: None)
