"""The public names, in one list: what is not here is not public, and what is here is documented."""

from __future__ import annotations

import inspect

import pytest

import headrace as hr

PUBLIC: dict[str, set[str]] = {
    "TLS": {"ca", "cert", "key", "server_name", "verify", "from_dir", "read_ca", "read_identity"},
    "FeatureStore": {
        "create_feature_group", "create_external_feature_group", "get_feature_group", "get_or_create_feature_group", "list_feature_groups",
        "delete_feature_group", "create_feature_view", "get_feature_view", "get_or_create_feature_view", "list_feature_views", "delete_feature_view",
        "register_feature_group", "get_historical_features", "sql", "grants", "tokens", "queries", "cache", "health", "service_version", "project", "close",
    },
    "FeatureGroup": {
        "name", "version", "schema", "primary_key", "event_time", "event_time_unit", "created_time", "ttl", "min_age", "tie_breaker",
        "partition_by", "change_feed", "location", "freshness", "format", "tags", "description", "insert", "delete", "read", "select",
        "filter", "with_columns", "join", "as_of", "detail", "history", "statistics", "add_features", "restore", "changes", "compact", "vacuum", "set_tags",
    },
    "FeatureView": {
        "name", "version", "labels", "features", "query", "tags", "description", "training_data", "train_test_split", "train_validation_test_split", "batch_data", "explain",
        "create_training_dataset", "get_training_dataset", "list_training_datasets", "delete_training_dataset",
    },
    "Query": {"select", "filter", "with_columns", "limit", "join", "as_of", "read", "explain", "schema"},
    "Column": {"isin", "like", "is_null", "is_not_null", "is_nan"},
    "Result": {
        "schema", "snapshots", "to_arrow", "to_polars", "to_reader", "to_pandas", "to_df", "head", "explain", "xy",
        "to_spark",
    },
    "TrainingDataset": {
        "version", "splits", "rows", "snapshots", "schema", "features", "labels", "location", "format", "created", "description", "tags", "read", "recompute",
    },
    "TableDetail": {"snapshot", "rows", "files", "size_bytes", "files_compacted", "needs_compaction"},
    "Grant": {"user", "role", "group", "columns"},
    "Token": {"id", "user", "created", "expires", "description"},
    "NewToken": {"id", "user", "created", "expires", "description", "text"},
    "Commit": {"snapshot", "timestamp", "operation", "user", "rows_inserted", "rows_updated", "rows_deleted"},
}  # fmt: skip

ERRORS = {
    "HeadraceError": ("Exception", "ERROR"),
    "InvalidArgument": ("HeadraceError", "INVALID_ARGUMENT"),
    "InvalidName": ("InvalidArgument", "INVALID_NAME"),
    "UnknownColumn": ("InvalidArgument", "UNKNOWN_COLUMN"),
    "NameClash": ("InvalidArgument", "NAME_CLASH"),
    "KeyMismatch": ("InvalidArgument", "KEY_MISMATCH"),
    "Leakage": ("InvalidArgument", "LEAKAGE"),
    "SqlRejected": ("InvalidArgument", "SQL_REJECTED"),
    "BadData": ("HeadraceError", "BAD_DATA"),
    "SchemaMismatch": ("BadData", "SCHEMA_MISMATCH"),
    "NullKeys": ("BadData", "NULL_KEYS"),
    "DuplicateKeys": ("BadData", "DUPLICATE_KEYS"),
    "AmbiguousRows": ("BadData", "AMBIGUOUS_ROWS"),
    "NotFound": ("HeadraceError", "NOT_FOUND"),
    "SnapshotNotFound": ("NotFound", "SNAPSHOT_NOT_FOUND"),
    "AlreadyExists": ("HeadraceError", "ALREADY_EXISTS"),
    "DefinitionMismatch": ("AlreadyExists", "DEFINITION_MISMATCH"),
    "Conflict": ("HeadraceError", "CONFLICT"),
    "OutcomeUnknown": ("HeadraceError", "OUTCOME_UNKNOWN"),
    "AuthError": ("HeadraceError", "AUTH_ERROR"),
    "Unauthenticated": ("AuthError", "UNAUTHENTICATED"),
    "PermissionDenied": ("AuthError", "PERMISSION_DENIED"),
    "Busy": ("HeadraceError", "BUSY"),
    "LimitExceeded": ("HeadraceError", "LIMIT_EXCEEDED"),
    "Cancelled": ("HeadraceError", "CANCELLED"),
    "Unavailable": ("HeadraceError", "UNAVAILABLE"),
    "Timeout": ("Unavailable", "TIMEOUT"),
    "TLSError": ("Unavailable", "TLS_ERROR"),
    "CorruptTable": ("HeadraceError", "CORRUPT_TABLE"),
    "Unsupported": ("HeadraceError", "UNSUPPORTED"),
    "MissingDependency": ("HeadraceError", "MISSING_DEPENDENCY"),
    "InternalError": ("HeadraceError", "INTERNAL"),
}


def test_headrace_has_exactly_these_names():
    assert set(hr.__all__) == {"connect", "__version__", *PUBLIC, *ERRORS}
    assert len(hr.__all__) == len(set(hr.__all__))
    assert set(hr.__all__) <= set(dir(hr))
    for name in hr.__all__:
        assert getattr(hr, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'feature_store'"):
        _ = hr.feature_store


@pytest.mark.parametrize("name", PUBLIC)
def test_each_class_has_exactly_these_attributes(name):
    kind = getattr(hr, name)
    found = {attribute for attribute in dir(kind) if not attribute.startswith("_")}
    found |= {field for field in getattr(kind, "__annotations__", {}) if not field.startswith("_")}
    assert found == PUBLIC[name]


@pytest.mark.parametrize("name", ERRORS)
def test_each_error_has_its_place_in_the_tree_and_its_code(name):
    kind = getattr(hr, name)
    parent, code = ERRORS[name]
    assert (kind.__base__.__name__, kind.code) == (parent, code)
    assert hasattr(kind, "retryable")


@pytest.mark.parametrize("name", ["connect", *PUBLIC])
def test_everything_public_is_documented(name):
    thing = getattr(hr, name)
    assert inspect.getdoc(thing)
    for attribute in PUBLIC.get(name, set()) - set(getattr(thing, "__annotations__", {})):
        member = inspect.getattr_static(thing, attribute)
        if callable(member) or isinstance(member, property | classmethod):
            assert inspect.getdoc(getattr(thing, attribute) if callable(member) else member), (
                f"{name}.{attribute}"
            )


def test_no_attribute_of_a_group_hides_a_likely_column():
    """`group.temp` is a column where no attribute has that name: each attribute takes one away."""
    assert {"read", "select", "join"} <= PUBLIC["FeatureGroup"]
    assert not {"id", "time", "date", "value", "count", "key"} & PUBLIC["FeatureGroup"]


def test_errors_carry_what_programs_need():
    error = hr.Busy("no room", retry_after=2.5, hint="wait", details={"queue": 3}, request_id="r1")
    assert (error.retry_after, error.code, error.message, error.hint) == (2.5, "BUSY", "no room", "wait")
    assert (error.details["queue"], error.request_id, error.retryable) == (3, "r1", True)
    assert str(error) == "no room (wait)"
