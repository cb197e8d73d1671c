"""`headrace status`: whether a store answers, and what is in it."""

from __future__ import annotations

from importlib.metadata import version

from headrace.cli.report import print_facts, print_json
from headrace.cli.target import Target, on_store
from headrace.config import is_remote
from headrace.errors import NotFound, Unavailable

PATIENCE = 10.0
"""Seconds in which a service must answer."""


@on_store
def status(target: Target) -> None:
    """Whether a store or service answers and is ready, in which version, and how much is in the project."""
    facts: dict[str, object] = {
        "store": target.named,
        "kind": _kind(target),
        "project": target.project,
        "version": version("headrace"),
        "reachable": True,
    }
    try:
        with target.connect(timeout=PATIENCE) as fs:
            facts["service_version"] = fs.service_version
            health = fs.health()
            facts["ready"] = health.ready
            if not health.ready:
                facts["problems"] = list(health.problems)
                why = "; ".join(health.problems) or "its admins are told why"
                raise Unavailable(f"{target.named} is not ready: {why}")
            facts["feature_groups"] = len(fs.list_feature_groups())
            facts["feature_views"] = len(fs.list_feature_views())
    except (NotFound, Unavailable):
        facts["reachable"] = "ready" in facts
        _print(facts, target.json)
        raise
    _print(facts, target.json)


def _kind(target: Target) -> str:
    if target.remote:
        return "service"
    return "storage" if is_remote(target.named) else "folder"


def _print(facts: dict[str, object], json: bool) -> None:
    if json:
        print_json(facts)
        return
    print_facts((name.replace("_", " "), _shown(value)) for name, value in facts.items())


def _shown(value: object) -> object:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(str, value))
    return value
