"""Headrace: feature groups on a lakehouse, point-in-time-correct training data, Arrow all the way, no JVM.

    Python ── embedded ──────────────┐
      │                              ▼
      └── Arrow Flight ── service ── planning ── engine (DuckDB) ── formats (Delta) ── storage
                             │
                          registry

`connect` gives a `FeatureStore`; it makes and finds `FeatureGroup` (rows go in) and `FeatureView` (training
data come out, as a lazy `Result`). Every error is a `HeadraceError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from headrace.errors import *  # noqa: F403
from headrace.errors import __all__ as _errors
from headrace.tls import TLS as TLS

if TYPE_CHECKING:
    from headrace.client.feature_group import FeatureGroup as FeatureGroup
    from headrace.client.feature_view import FeatureView as FeatureView
    from headrace.client.query import Query as Query
    from headrace.client.result import Result as Result
    from headrace.client.store import FeatureStore as FeatureStore
    from headrace.client.training_dataset import TrainingDataset as TrainingDataset
    from headrace.connection import connect as connect
    from headrace.model.definition import Commit as Commit
    from headrace.model.detail import TableDetail as TableDetail
    from headrace.model.expression import Column as Column
    from headrace.model.right import Grant as Grant
    from headrace.model.token import NewToken as NewToken
    from headrace.model.token import Token as Token

    __version__: str

else:
    # What stands on Arrow is loaded when it is first asked for: a command's help waits for none of it. Type checkers
    # see the imports above, and not this, or they would take every name for one of ours.
    _HOMES = {
        "Column": "headrace.model.expression",
        "Commit": "headrace.model.definition",
        "TableDetail": "headrace.model.detail",
        "FeatureGroup": "headrace.client.feature_group",
        "FeatureStore": "headrace.client.store",
        "FeatureView": "headrace.client.feature_view",
        "Grant": "headrace.model.right",
        "NewToken": "headrace.model.token",
        "Query": "headrace.client.query",
        "Result": "headrace.client.result",
        "Token": "headrace.model.token",
        "TrainingDataset": "headrace.client.training_dataset",
        "connect": "headrace.connection",
    }

    __all__ = ["TLS", "__version__", *_HOMES, *(name for name in _errors if name != "error_types")]

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("headrace")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        return list({*globals(), *__all__})
