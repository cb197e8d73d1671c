"""Headrace: feature groups on a lakehouse, point-in-time-correct training data, Arrow all the way, no JVM.

    Python ── embedded ──────────────┐
      │                              ▼
      └── Arrow Flight ── service ── planning ── engine (DuckDB) ── formats (Delta) ── storage
                             │
                          registry

`connect` gives a `FeatureStore`; it makes and finds `FeatureGroup` (rows go in) and `FeatureView` (training
data come out, as a lazy `Result`). Every error is a `HeadraceError`.
"""

from headrace.client.feature_group import FeatureGroup
from headrace.client.feature_view import FeatureView
from headrace.client.query import Query
from headrace.client.result import Result
from headrace.client.store import FeatureStore
from headrace.config import TLS
from headrace.errors import *  # noqa: F403
from headrace.errors import __all__ as _errors
from headrace.model.definition import Commit
from headrace.model.expression import Column
from headrace.wiring import connect

__all__ = [
    "TLS",
    "Column",
    "Commit",
    "FeatureGroup",
    "FeatureStore",
    "FeatureView",
    "Query",
    "Result",
    "connect",
]
__all__ += [name for name in _errors if name != "error_types"]

del _errors
