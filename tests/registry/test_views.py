"""Feature views in the registry, and the groups that they need, on every database."""

from __future__ import annotations

import datetime as dt

import pytest

from headrace.errors import AlreadyExists, Conflict, InvalidArgument, NotFound
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.expression import Compare, IsIn, Ref, Value
from headrace.model.query import Filter, Join, Limit, Query, Select, Source
from headrace.registry import Registry


@pytest.fixture
def registry(registry: Registry) -> Registry:
    """With three feature groups."""
    for name in ("flights", "weather", "planes"):
        registry.create_group(
            "p", GroupDefinition(name=name, version=1, primary_key=("id",), tags={"t": "1"})
        )
    return registry


def view(*groups: str, name: str = "delays", version: int = 0, **rest: object) -> ViewDefinition:
    root, *joined = groups or ("flights@v1",)
    query = Query(Source(root), tuple(Join(Query(Source(group))) for group in joined))
    return ViewDefinition(name=name, version=version, query=query, **rest)


def test_a_definition_comes_back_whole(registry: Registry) -> None:
    cold = Compare("<", Ref("temp", "weather@v1"), Value("float", "0.5"))
    weather = Query(
        Source("weather@v1", timestamp=dt.datetime(2026, 11, 2, tzinfo=dt.UTC)),
        (Filter(cold), Select(("temp",))),
    )
    given = ViewDefinition(
        name="delays",
        version=2,
        query=Query(
            Source("flights@v1", snapshot=4),
            (
                Select(None),
                Join(weather, on=(("origin", "id"),), how="inner", prefix="wx_", max_age=0, min_age=5),
                Join(Query(Source("planes@v1")), point_in_time=False),
                Filter(IsIn(Ref("carrier"), (Value("str", "AA"), Value("str", "é'")))),
                Limit(10),
            ),
        ),
        labels=("arr_delay",),
        description="delays",
        tags={"team": "x"},
    )
    assert registry.create_view("p", given) == given
    assert registry.get_view("p", "delays", 2) == given
    assert registry.list_views("p", "del*", {"team": "x"}) == [given]


def test_versions_are_counted_apart_from_the_groups(registry: Registry) -> None:
    assert registry.create_view("p", view(name="weather")).version == 1
    assert registry.create_view("p", view(name="weather")).version == 2
    registry.delete_view("p", "weather", 2, force=False)
    assert registry.create_view("p", view(name="weather")).version == 3
    assert registry.get_view("p", "weather", None).version == 3
    with pytest.raises(AlreadyExists, match="feature view weather@v3 already exists in project p"):
        registry.create_view("p", view(name="weather", version=3))


def test_every_group_of_the_query_must_exist(registry: Registry) -> None:
    with pytest.raises(NotFound, match="project p has no feature group weather@v2"):
        registry.create_view("p", view("flights@v1", "weather@v2"))
    with pytest.raises(NotFound, match="project q has no feature group flights@v1"):
        registry.create_view("q", view("flights@v1"))
    with pytest.raises(InvalidArgument, match="delays names weather without its version"):
        registry.create_view("p", view("flights@v1", "weather"))
    assert registry.list_views("p", None, {}) == []
    assert registry.create_view("p", view()).version == 1


def test_a_needed_group_is_kept(registry: Registry) -> None:
    registry.create_view("p", view("flights@v1", "weather@v1"))
    registry.create_view("p", view("weather@v1", "flights@v1", "weather@v1"))
    registry.create_view("p", view("planes@v1", name="fleet"))
    before = registry.list_groups("p", None, {"t": "1"})
    with pytest.raises(Conflict, match="weather@v1 is needed by feature view delays@v1, delays@v2") as caught:
        registry.delete_group("p", "weather", 1, force=False)
    assert caught.value.details["views"] == ["delays@v1", "delays@v2"]
    assert registry.list_groups("p", None, {"t": "1"}) == before
    registry.delete_view("p", "delays", 2, force=False)
    with pytest.raises(Conflict, match="view delays@v1 "):
        registry.delete_group("p", "weather", 1, force=False)
    registry.delete_view("p", "delays", 1, force=False)
    assert registry.delete_group("p", "weather", 1, force=False).name == "weather"
    registry.create_group("q", GroupDefinition(name="planes", version=1, primary_key=("id",)))
    registry.delete_group("q", "planes", 1, force=False)


def test_a_view_outlives_a_group_deleted_by_force(registry: Registry) -> None:
    made = registry.create_view("p", view("flights@v1", "weather@v1"))
    weather = registry.delete_group("p", "weather", 1, force=True)
    assert registry.get_view("p", "delays", None) == made
    registry.create_group("p", weather)
    with pytest.raises(Conflict, match="delays@v1"):
        registry.delete_group("p", "weather", 1, force=False)


def test_views_are_listed_and_deleted(registry: Registry) -> None:
    first = registry.create_view("p", view(tags={"team": "x"}))
    second = registry.create_view("p", view(tags={"team": "y"}))
    other = registry.create_view("p", view(name="a"))
    assert registry.list_views("p", None, {}) == [other, first, second]
    assert registry.list_views("p", "d*", {"team": "y"}) == [second]
    assert registry.delete_view("p", "delays", 1, force=False) == []
    assert registry.list_views("p", "d*", {}) == [second]
    with pytest.raises(NotFound, match=r"no feature view delays@v1 \(delays has version 2\)"):
        registry.delete_view("p", "delays", 1, force=False)
    with pytest.raises(NotFound, match="did you mean delays"):
        registry.get_view("p", "delay", None)
