"""A point-in-time join by Feast's DuckDB offline store. Runs where Headrace is not installed."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from benchmarks.feast.config import write_config


@dataclasses.dataclass(frozen=True)
class Feast:
    """Features for every row of a spine, in memory as the pandas frame that Feast asks for.

    Args:
        spine: a Parquet file, read before anything is timed.
        files: the Parquet files of each feature view, as a glob.
        features: the names of each view's features.
    """

    spine: Path
    files: Mapping[str, str]
    features: Mapping[str, tuple[str, ...]]
    _: dataclasses.KW_ONLY
    key: str
    event_time: str
    created_time: str
    ttl_days: int

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[int], pa.Table]]:
        import pandas as pd
        from feast import Entity, FeatureStore, FeatureView, Field, FileSource, ValueType
        from feast.types import Float64, Int64

        entity = Entity(name=self.key, join_keys=[self.key], value_type=ValueType.INT64)
        views = [
            FeatureView(
                name=name,
                entities=[entity],
                ttl=dt.timedelta(days=self.ttl_days),
                schema=[Field(name=self.key, dtype=Int64), *(Field(name=f, dtype=Float64) for f in features)],
                source=FileSource(
                    name=f"{name}_files",
                    path=self.files[name],
                    timestamp_field=self.event_time,
                    created_timestamp_column=self.created_time,
                ),
            )
            for name, features in self.features.items()
        ]
        wanted = [f"{name}:{feature}" for name, features in self.features.items() for feature in features]
        with tempfile.TemporaryDirectory() as folder:
            config = write_config(Path(folder), "feature_store.yaml", "{type: duckdb}")
            store = FeatureStore(fs_yaml_file=config)
            store.apply([entity, *views])
            spine = pd.read_parquet(self.spine)
            yield lambda _: store.get_historical_features(entity_df=spine, features=wanted).to_arrow()
