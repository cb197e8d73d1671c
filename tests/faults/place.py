"""Stores elsewhere, as any process connects to them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import headrace as hr

# Where what waits is to get through, not to give up: a busy machine may stand still for longer than users wait.
PATIENT = {"headrace.hdfs.outage_timeout": "600"}

SCHEMA = pa.schema({"id": pa.int64(), "value": pa.int64()})


@dataclasses.dataclass(frozen=True)
class Place:
    """What to connect to, and with what."""

    uri: str
    registry: str
    work: Path
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tls: hr.TLS | None = None

    def connect(self, **more: str) -> hr.FeatureStore:
        """`more` are storage options."""
        os.environ["HEADRACE_WORK"] = str(
            self.work
        )  # a child has the environment of whoever started the first one
        return hr.connect(
            self.uri, registry=self.registry, tls=self.tls, storage_options={**self.options, **more}
        )

    def to_json(self) -> str:
        """Without certificates."""
        return json.dumps([self.uri, self.registry, str(self.work), dict(self.options)])

    @classmethod
    def from_json(cls, text: str) -> Place:
        uri, registry, work, options = json.loads(text)
        return cls(uri, registry, Path(work), options)

    def group(self, store: hr.FeatureStore, name: str = "numbers") -> hr.FeatureGroup:
        return store.create_feature_group(name, primary_key=["id"], schema=SCHEMA)


def place(folder: Path, root: str, options: Mapping[str, str], tls: hr.TLS | None = None) -> Place:
    """A store whose registry and work lie in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return Place(root, f"sqlite:///{folder / 'registry.db'}", folder / "work", dict(options), tls)


def rows(ids: range, value: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array([value] * len(ids), pa.int64())})


def held_at(there: Place, name: str = "numbers") -> Counter[tuple[int, int]]:
    """How often each row is there, for one who connects now."""
    with there.connect() as store:
        return held(store.get_feature_group(name))


def held(group: Any) -> Counter[tuple[int, int]]:
    """How often each row is there."""
    found = group.read().to_arrow()
    return Counter(zip(found["id"].to_pylist(), found["value"].to_pylist(), strict=True))
