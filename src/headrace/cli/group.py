"""A feature group as commands name it, and as they tell it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.option import tags_text
from headrace.cli.report import bytes_text, print_facts, print_json, print_table, print_text
from headrace.model.duration import format_duration
from headrace.model.name import parse_reference, reference

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.client.feature_group import FeatureGroup
    from headrace.client.store import FeatureStore
    from headrace.model.definition import Commit
    from headrace.model.detail import TableDetail

_MICROSECOND = dt.timedelta(microseconds=1)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name, or name@v2; a name alone is its newest version.")
]


def group_named(fs: FeatureStore, name: str) -> FeatureGroup:
    """Raises NotFound, InvalidName."""
    return fs.get_feature_group(*parse_reference(name))


def group_told(group: FeatureGroup, schema: pa.Schema | None) -> dict[str, Any]:
    """A group for programs."""
    from headrace.client.feature_group import is_adopted

    return {
        "name": group.name,
        "version": group.version,
        "description": group.description,
        "primary_key": group.primary_key,
        "event_time": group.event_time,
        "event_time_unit": group.event_time_unit,
        "created_time": group.created_time,
        "ttl": _age(group.ttl),
        "min_age": _age(group.min_age),
        "tie_breaker": group.tie_breaker,
        "partition_by": group.partition_by,
        "change_feed": group.change_feed,
        "tags": group.tags,
        "format": group.format,
        "location": group.location,
        "freshness": _age(group.freshness),
        "adopted": is_adopted(group),
        "columns": [{"name": f.name, "type": str(f.type)} for f in schema or ()],
    }


def print_group(group: FeatureGroup, json: bool, *, stored: bool = False) -> None:
    """Definition and columns; with `stored` its newest commit, too, and what files it is in."""
    told = group_told(group, group.schema)
    detail = group.detail() if stored else None
    commit = next(iter(group.history(limit=1)), None) if stored else None
    if json:
        print_json(told if detail is None else told | _detail_told(detail) | {"newest_commit": commit})
        return
    columns = told.pop("columns")
    ref = reference(told.pop("name"), told.pop("version"))
    facts = {
        "group": ref,
        **told,
        "primary_key": ", ".join(told["primary_key"]),
        "partition_by": ", ".join(told["partition_by"]),
        "change_feed": "yes" if told["change_feed"] else "no",
        "tags": tags_text(told["tags"]),
        "adopted": "yes, a delete leaves the table" if told["adopted"] else None,
        **(_detail_facts(ref, detail) if detail is not None and commit is not None else {}),
        "newest_commit": commit
        and f"snapshot {commit.snapshot}, {commit.timestamp:%Y-%m-%d %H:%M:%SZ}, {counts_text(commit)}",
    }
    print_facts((name.replace("_", " "), value) for name, value in facts.items())
    print_text("")
    if columns:
        print_table(["column", "type"], [list(column.values()) for column in columns])
    else:
        print_text("no columns yet: the first insert sets them")


def _detail_told(detail: TableDetail) -> dict[str, Any]:
    return {
        "rows": detail.rows,
        "files": detail.files,
        "size_bytes": detail.size_bytes,
        "files_compacted": detail.files_compacted,
        "needs_compaction": detail.needs_compaction,
    }


def _detail_facts(ref: str, detail: TableDetail) -> dict[str, str | None]:
    made = f"headrace fg compact {ref} leaves about {detail.files_compacted:,}"
    return {
        "rows": None if detail.rows is None else f"{detail.rows:,}",
        "files": f"{detail.files:,}",
        "size": bytes_text(detail.size_bytes),
        "advice": f"{detail.files:,} files, mostly small: {made}" if detail.needs_compaction else None,
    }


def commit_told(commit: Commit) -> dict[str, Any]:
    """A commit for programs."""
    return {
        "snapshot": commit.snapshot,
        "timestamp": commit.timestamp,
        "operation": commit.operation,
        "rows_inserted": commit.rows_inserted,
        "rows_updated": commit.rows_updated,
        "rows_deleted": commit.rows_deleted,
        "user": commit.user,
    }


def counts_text(commit: Commit) -> str:
    """What a commit did, for people."""
    counts = (
        ("inserted", commit.rows_inserted),
        ("updated", commit.rows_updated),
        ("deleted", commit.rows_deleted),
    )
    return ", ".join(f"{count:,} {what}" for what, count in counts if count is not None) or commit.operation


def _age(age: dt.timedelta | None) -> str | None:
    return None if age is None else format_duration(age // _MICROSECOND)
