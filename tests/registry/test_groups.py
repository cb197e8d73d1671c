"""Feature groups in the registry, on every database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.errors import AlreadyExists, InvalidArgument, NotFound
from headrace.model.definition import GroupDefinition
from headrace.registry import Registry


def group(name: str = "weather", version: int = 0, **rest: object) -> GroupDefinition:
    return GroupDefinition(name=name, version=version, primary_key=("origin",), **rest)


def refs(definitions: list[GroupDefinition]) -> list[str]:
    return [definition.ref for definition in definitions]


def test_a_definition_comes_back_whole(registry: Registry) -> None:
    given = GroupDefinition(
        name="weather",
        version=3,
        primary_key=("origin", 'Länge "x"\'; --'),
        event_time="observed_at",
        created_time="ingested_at",
        partition_by=("year",),
        ttl=6 * 3600 * 10**6,
        min_age=1,
        tie_breaker="row",
        event_time_unit="ms",
        change_feed=False,
        description="hourly weather 🌦 \0",
        tags={"team": "delays", "q'\"%_;": "ü"},
        location="groups/weather",
    )
    assert registry.create_group("flights", given) == given
    assert registry.get_group("flights", "weather", 3) == given
    assert registry.get_group("flights", "weather", None) == given


def test_versions_are_counted(registry: Registry) -> None:
    assert registry.create_group("p", group()).version == 1
    assert registry.create_group("p", group()).version == 2
    assert registry.create_group("p", group(version=7)).version == 7
    assert registry.create_group("p", group(version=4)).version == 4
    assert registry.create_group("p", group()).version == 8
    assert registry.create_group("p", group("other")).version == 1
    assert registry.create_group("q", group()).version == 1
    assert registry.get_group("p", "weather", None).version == 8


def test_a_deleted_version_is_given_again_only_on_request(registry: Registry) -> None:
    for _ in range(2):
        registry.create_group("p", group(tags={"team": "x"}))
    registry.delete_group("p", "weather", 2, force=False)
    assert registry.get_group("p", "weather", None).version == 1
    registry.delete_group("p", "weather", 1, force=False)
    assert registry.create_group("p", group()).version == 3
    assert registry.create_group("p", group(version=2, tags={"team": "x"})).version == 2
    assert registry.create_group("p", group()).version == 4
    assert refs(registry.list_groups("p", None, {"team": "x"})) == ["weather@v2"]


def test_a_version_exists_once(registry: Registry) -> None:
    registry.create_group("flights", group(version=2, description="first"))
    with pytest.raises(AlreadyExists, match="feature group weather@v2 already exists in project flights"):
        registry.create_group("flights", group(version=2, description="second"))
    assert registry.get_group("flights", "weather", 2).description == "first"
    assert registry.create_group("flights", group()).version == 3


def test_what_is_not_found_names_what_is_there(registry: Registry) -> None:
    with pytest.raises(NotFound, match=r"project flights has no feature group weather \(it has none"):
        registry.get_group("flights", "weather", None)
    for name in ("weather", "planes", "weather"):
        registry.create_group("flights", group(name))
    with pytest.raises(NotFound, match=r"no feature group wether \(did you mean weather\?") as caught:
        registry.get_group("flights", "wether", None)
    assert caught.value.details["similar"] == ["weather"]
    with pytest.raises(NotFound, match=r"no feature group weather@v9 \(weather has version 2, 1\)") as caught:
        registry.get_group("flights", "weather", 9)
    assert caught.value.details["versions"] == [1, 2]
    with pytest.raises(NotFound, match=r"there is planes, weather"):
        registry.get_group("flights", "xyz", 1)
    with pytest.raises(NotFound, match="project other has no feature group weather"):
        registry.get_group("other", "weather", 1)
    for number in range(30):
        registry.create_group("flights", group(f"g{number}"))
    with pytest.raises(NotFound) as caught:
        registry.get_group("flights", "xyz", 1)
    assert caught.value.hint is not None
    assert caught.value.hint.endswith(", …")


def test_groups_are_listed_by_name_and_version(registry: Registry) -> None:
    for name in ("b", "a_b", "axb", "a", "ab"):
        registry.create_group("p", group(name))
    for _ in range(10):
        registry.create_group("p", group("b"))
    registry.create_group("q", group("elsewhere"))
    b = [f"b@v{version}" for version in range(1, 12)]
    assert refs(registry.list_groups("p", None, {})) == ["a@v1", "a_b@v1", "ab@v1", "axb@v1", *b]
    assert refs(registry.list_groups("p", "a_*", {})) == ["a_b@v1"]
    assert refs(registry.list_groups("p", "a?b", {})) == ["a_b@v1", "axb@v1"]
    assert refs(registry.list_groups("p", "[!b]", {})) == ["a@v1"]
    assert refs(registry.list_groups("p", "A*", {})) == []
    assert refs(registry.list_groups("p", "a%", {})) == []
    assert refs(registry.list_groups("none", None, {})) == []


def test_groups_are_listed_by_tags(registry: Registry) -> None:
    registry.create_group("p", group("a", tags={"team": "x", "tier": "1"}))
    registry.create_group("p", group("a", tags={"team": "x"}))
    registry.create_group("p", group("b", tags={"team": "y", "tier": "1", "it's": '"%'}))
    registry.create_group("q", group("a", tags={"team": "x"}))
    assert refs(registry.list_groups("p", None, {"team": "x"})) == ["a@v1", "a@v2"]
    assert refs(registry.list_groups("p", None, {"team": "x", "tier": "1"})) == ["a@v1"]
    assert refs(registry.list_groups("p", "b", {"tier": "1"})) == ["b@v1"]
    assert refs(registry.list_groups("p", None, {"it's": '"%'})) == ["b@v1"]
    assert refs(registry.list_groups("p", None, {"team": "X"})) == []
    assert refs(registry.list_groups("p", None, {"none": "x"})) == []


def test_deleting_tells_what_was_there(registry: Registry) -> None:
    kept = registry.create_group("p", group(tags={"a": "1"}))
    made = registry.create_group("p", group(tags={"a": "1"}, location="there"))
    assert registry.delete_group("p", "weather", 2, force=False) == made
    with pytest.raises(NotFound, match="weather@v2"):
        registry.delete_group("p", "weather", 2, force=True)
    assert registry.list_groups("p", None, {"a": "1"}) == [kept]


def test_tags_change_one_by_one(registry: Registry) -> None:
    registry.create_group("p", group(tags={"a": "1", "b": "2"}, description="kept"))
    other = registry.create_group("p", group(tags={"a": "1"}))
    changed = registry.set_group_tags("p", "weather", 1, {"a": None, "b": "3", "c": "4", "never": None})
    assert changed.tags == {"b": "3", "c": "4"}
    assert changed.description == "kept"
    assert registry.get_group("p", "weather", 1) == changed
    assert registry.list_groups("p", None, {"b": "3", "c": "4"}) == [changed]
    assert registry.list_groups("p", None, {"b": "2"}) == []
    assert registry.list_groups("p", None, {"a": "1"}) == [other]
    with pytest.raises(NotFound, match="weather@v9"):
        registry.set_group_tags("p", "weather", 9, {"a": "1"})


def test_tags_that_no_database_holds_are_refused(registry: Registry) -> None:
    registry.create_group("p", group(tags={"old": "1"}))
    for key, value in [
        ("", "x"),
        ("k" * 256, "x"),
        ("\0", "x"),
        ("x", "\0"),
        ("\ud800", "x"),
        ("x", "\ud800"),
    ]:
        with pytest.raises(InvalidArgument, match="feature group weather@v2"):
            registry.create_group("p", group(tags={key: value}))
        with pytest.raises(InvalidArgument, match="feature group weather@v1"):
            registry.set_group_tags("p", "weather", 1, {key: value})
    assert [made.tags for made in registry.list_groups("p", None, {})] == [{"old": "1"}]


def test_long_texts_are_held(registry: Registry) -> None:
    long = group(tags={"k" * 255: "v" * 100_000}, description="d" * 1_000_000, version=1)
    assert registry.create_group("p", long) == long
    assert registry.list_groups("p", None, long.tags) == [long]


def test_versions_out_of_range_are_refused(registry: Registry) -> None:
    for version in (-1, 2**31, 2**63, 10**30):
        with pytest.raises(InvalidArgument, match="is refused"):
            registry.create_group("p", group(version=version))
        with pytest.raises(InvalidArgument, match="is refused"):
            registry.get_group("p", "weather", version)
    registry.create_group("p", group(version=2**31 - 1))
    with pytest.raises(InvalidArgument, match="is refused"):
        registry.create_group("p", group())


def test_threads_share_a_registry(registry: Registry) -> None:
    def work(_: int) -> int:
        made = registry.create_group("p", group())
        assert registry.get_group("p", "weather", made.version) == made
        return made.version

    with ThreadPoolExecutor(24) as pool:
        assert sorted(pool.map(work, range(72))) == list(range(1, 73))
