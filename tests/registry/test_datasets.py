"""Training datasets in the registry, and the views and groups that they need, on every database."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from typing import Any

import msgspec
import pytest

from headrace.errors import Conflict, InvalidArgument, NotFound
from headrace.model.dataset import DatasetDefinition, Split
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.query import Join, Limit, Query, Select, Source
from headrace.model.request import PointInTime, ReadRequest, Share, Span
from headrace.model.stored_file import StoredFile
from headrace.registry import Registry

NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def group(name: str, version: int = 1, location: str = "") -> GroupDefinition:
    return GroupDefinition(
        name=name, version=version, primary_key=("id",), location=location or f"p/{name}-1"
    )


def view(*groups: str, name: str = "delays", version: int = 0, **rest: object) -> ViewDefinition:
    root, *joined = groups or ("flights@v1",)
    query = Query(Source(root), tuple(Join(Query(Source(group))) for group in joined))
    return ViewDefinition(name=name, version=version, query=query, **rest)


def dataset(of: ViewDefinition, **rest: Any) -> DatasetDefinition:
    """Of the first snapshots of the view's groups."""
    refs = [of.query.source.group, *(step.right.source.group for step in of.query.steps)]
    query = Query(
        Source(refs[0], snapshot=0), tuple(Join(Query(Source(ref, snapshot=0))) for ref in refs[1:])
    )
    locations = {ref: f"p/{ref.partition('@')[0]}-1" for ref in refs}
    given = {
        "name": of.ref,
        "version": 0,
        "request": ReadRequest(kind="training", view=of.ref, query=query, locations=locations),
        "splits": (Split("all", files=(StoredFile("all/00000.parquet", 3, 100, "k/all/00000.parquet"),)),),
        "format": "parquet",
        "key": "k",
        "snapshots": dict.fromkeys(refs, 0),
    }
    return DatasetDefinition(**{**given, **rest})


@pytest.fixture
def registry(registry: Registry) -> Registry:
    """With three feature groups."""
    for name in ("flights", "weather", "planes"):
        registry.create_group("p", group(name))
    return registry


@pytest.fixture
def delays(registry: Registry) -> ViewDefinition:
    return registry.create_view("p", view("flights@v1", "weather@v1"))


def made(registry: Registry, of: ViewDefinition, **rest: Any) -> DatasetDefinition:
    return registry.create_dataset("p", dataset(of, **rest), of)


def test_a_definition_comes_back_whole(registry: Registry, delays: ViewDefinition) -> None:
    given = DatasetDefinition(
        name="delays@v1",
        version=4,
        request=ReadRequest(
            kind="training",
            view="delays@v1",
            query=Query(
                Source("flights@v1", snapshot=4),
                (
                    Select(("id", "é'")),
                    Join(Query(Source("weather@v1", snapshot=7)), on=(("a", "b"),), prefix="wx_"),
                    Limit(10),
                ),
            ),
            labels=("delay",),
            point_in_time=PointInTime(start=NOON, known_at_event_time=True, max_age=5),
            parts=(Share(0.0, 0.5, 3, "carrier"), Span(None, NOON)),
            ordered=True,
            spine_schema=b"\x00\xff",
            now=NOON,
            locations={"flights@v1": "p/flights-1", "weather@v1": "p/weather-1"},
        ),
        splits=(
            Split(
                "train",
                Share(0.0, 0.7, 2**62, "carrier"),
                (StoredFile("train/0.csv", 2**40, 2**50, "k/train/0.csv", 2**32 - 1),),
            ),
            Split("test", Span(NOON, None)),
        ),
        format="csv",
        key="one-time",
        description="for the paper 🌦 \0",
        tags={"by": "me", "q'\"%_;": "ü"},
        location="p/delays_v1-1",
        created=NOON,
        schema_ipc=b"\x01\x00\xfe",
        features=("id", "é'"),
        labels=("delay",),
        snapshots={"flights@v1": 4, "weather@v1": 7},
    )
    assert registry.create_dataset("p", given, delays) == given
    assert registry.get_dataset("p", "delays@v1", 4) == given
    assert registry.get_dataset("p", "delays@v1", None) == given
    assert registry.list_datasets("p", "delays@v1") == [given]
    weather = registry.get_group("p", "weather", 1)
    assert registry.datasets_of_group("p", weather) == [given]


def test_versions_are_counted_for_each_view(registry: Registry, delays: ViewDefinition) -> None:
    other = registry.create_view("p", view(version=2))
    assert [made(registry, delays).version for _ in range(3)] == [1, 2, 3]
    assert made(registry, other).version == 1
    registry.delete_dataset("p", "delays@v1", 3)
    registry.delete_dataset("p", "delays@v1", 1)
    assert made(registry, delays).version == 4
    assert [d.version for d in registry.list_datasets("p", "delays@v1")] == [2, 4]
    assert registry.get_dataset("p", "delays@v1", None).version == 4


def test_versions_go_on_in_a_view_that_was_made_again(registry: Registry, delays: ViewDefinition) -> None:
    made(registry, delays)
    registry.delete_view("p", "delays", 1, force=True)
    again = registry.create_view("p", msgspec.structs.replace(delays, version=1))
    assert registry.list_datasets("p", "delays@v1") == []
    assert made(registry, again).version == 2


def test_they_are_listed_and_deleted(registry: Registry, delays: ViewDefinition) -> None:
    first, second = made(registry, delays, tags={"by": "me"}), made(registry, delays)
    assert registry.list_datasets("p", "delays@v1") == [first, second]
    for project, ref in (("q", "delays@v1"), ("p", "delays@v2"), ("p", "delays"), ("p", "*")):
        assert registry.list_datasets(project, ref) == []
    assert registry.delete_dataset("p", "delays@v1", 1) == first
    assert registry.list_datasets("p", "delays@v1") == [second]
    with pytest.raises(NotFound, match="no training dataset 1 of delays@v1") as caught:
        registry.delete_dataset("p", "delays@v1", 1)
    assert caught.value.hint == "delays@v1 has version 2"
    with pytest.raises(NotFound, match="project q has no training dataset of delays@v1"):
        registry.get_dataset("q", "delays@v1", None)


def test_a_view_keeps_its_datasets_unless_forced(registry: Registry, delays: ViewDefinition) -> None:
    first, second = made(registry, delays), made(registry, delays)
    with pytest.raises(Conflict, match="feature view delays@v1 has training datasets: 1, 2") as caught:
        registry.delete_view("p", "delays", 1, force=False)
    assert caught.value.details["datasets"] == [1, 2]
    assert registry.get_view("p", "delays", 1) == delays
    assert registry.list_datasets("p", "delays@v1") == [first, second]
    assert registry.delete_view("p", "delays", 1, force=True) == [first, second]
    assert registry.list_datasets("p", "delays@v1") == []
    weather = registry.get_group("p", "weather", 1)
    assert registry.datasets_of_group("p", weather) == []
    registry.delete_group("p", "weather", 1, force=False)


def test_a_view_whose_datasets_are_deleted_needs_no_force(registry: Registry, delays: ViewDefinition) -> None:
    other = registry.create_view("p", view(version=2))
    kept = made(registry, other)
    made(registry, delays)
    registry.delete_dataset("p", "delays@v1", 1)
    assert registry.delete_view("p", "delays", 1, force=False) == []
    assert registry.list_datasets("p", "delays@v2") == [kept]


def test_a_needed_group_is_kept(registry: Registry, delays: ViewDefinition) -> None:
    fleet = registry.create_view("p", view("planes@v1", name="fleet"))
    datasets = [made(registry, delays), made(registry, delays)]
    made(registry, fleet)
    with pytest.raises(Conflict) as caught:
        registry.delete_group("p", "weather", 1, force=False)
    assert "by feature view delays@v1 and training dataset 1 of delays@v1, 2 of delays@v1" in str(
        caught.value
    )
    assert caught.value.details["datasets"] == ["1 of delays@v1", "2 of delays@v1"]
    weather = registry.get_group("p", "weather", 1)
    assert registry.datasets_of_group("p", weather) == datasets
    assert registry.delete_group("p", "weather", 1, force=True) == weather
    assert registry.list_datasets("p", "delays@v1") == datasets


def test_of_several_groups_each_is_needed(registry: Registry) -> None:
    both = registry.create_view("p", view("flights@v1", "weather@v1", "planes@v1"))
    made(registry, both)
    for name in ("flights", "weather", "planes"):
        assert len(registry.datasets_of_group("p", registry.get_group("p", name, 1))) == 1
    registry.create_group("q", group("planes"))
    assert registry.datasets_of_group("q", registry.get_group("q", "planes", 1)) == []


class TestMadeOfWhatIsGone:
    """Nothing is registered, and no version is used up."""

    @pytest.fixture(autouse=True)
    def nothing_is_made(self, registry: Registry, delays: ViewDefinition) -> Any:
        yield
        assert registry.list_datasets("p", "delays@v1") == []
        with registry._database.reading() as connection:
            assert connection.exec_driver_sql("SELECT * FROM training_dataset_name").fetchall() == []
            assert connection.exec_driver_sql("SELECT * FROM training_dataset_group").fetchall() == []

    def test_a_view(self, registry: Registry, delays: ViewDefinition) -> None:
        registry.delete_view("p", "delays", 1, force=False)
        with pytest.raises(NotFound, match="no feature view delays@v1"):
            made(registry, delays)

    @pytest.mark.parametrize("change", [{"query": view("flights@v1").query}, {"labels": ("id",)}])
    def test_a_view_that_was_made_again(
        self, registry: Registry, delays: ViewDefinition, change: Any
    ) -> None:
        registry.delete_view("p", "delays", 1, force=False)
        registry.create_view("p", msgspec.structs.replace(delays, **change))
        with pytest.raises(NotFound, match="delays@v1 was deleted meanwhile, and made again"):
            made(registry, delays)

    def test_a_group(self, registry: Registry, delays: ViewDefinition) -> None:
        registry.delete_group("p", "weather", 1, force=True)
        with pytest.raises(NotFound, match="no feature group weather@v1"):
            made(registry, delays)

    def test_a_group_that_was_made_again(self, registry: Registry, delays: ViewDefinition) -> None:
        registry.delete_group("p", "weather", 1, force=True)
        registry.create_group("p", group("weather", location="p/weather-2"))
        with pytest.raises(NotFound, match="weather@v1 was deleted meanwhile, and made again"):
            made(registry, delays)

    @pytest.mark.parametrize("tags", [{"": "x"}, {"a": "\0"}, {"k" * 256: "x"}, {"k": "\ud800"}])
    def test_tags_that_cannot_be_stored(
        self, registry: Registry, delays: ViewDefinition, tags: dict[str, str]
    ) -> None:
        with pytest.raises(InvalidArgument, match="training dataset 1 of delays@v1"):
            made(registry, delays, tags=tags)


def test_a_view_made_again_as_it_was_is_the_same(registry: Registry, delays: ViewDefinition) -> None:
    registry.delete_view("p", "delays", 1, force=False)
    registry.create_view("p", msgspec.structs.replace(delays, description="again"))
    assert made(registry, delays).version == 1


class TestSeveralProcesses:
    @pytest.fixture(autouse=True)
    def opened(self, url: str, crew: Any) -> None:
        crew.call("open", url)

    def test_next_versions_are_given_once(self, registry: Registry, crew: Any) -> None:
        registry.create_view("p", view())
        answers = crew.call("create_datasets", "delays@v1", 12)
        assert sorted(version for answer in answers for version in answer) == list(range(1, 49))
        assert all(answer == sorted(answer) for answer in answers)
        assert [d.version for d in registry.list_datasets("p", "delays@v1")] == list(range(1, 49))

    def test_no_dataset_is_left_without_its_view(self, registry: Registry, crew: Any) -> None:
        outcomes = Counter()
        for turn in range(12):
            registry.create_view("p", view(name=f"v{turn}"))
            deleter, *creators = crew if turn % 2 else crew[::-1]
            calls = [(deleter, ("delete_view", f"v{turn}"))]
            calls[turn % 3 : 0] = [(creator, ("create_datasets", f"v{turn}@v1", 1)) for creator in creators]
            for actor, call in calls:
                actor.send(*call)
            answers = {actor: actor.answer() for actor, _ in calls}
            deleted = answers.pop(deleter)
            outcomes[str(deleted)] += 1
            if deleted == "CONFLICT":
                assert sorted(answers.values()) == [[1], [2], [3]]
            else:
                assert deleted == []
                assert set(map(str, answers.values())) == {"NOT_FOUND"}
                assert registry.list_datasets("p", f"v{turn}@v1") == []
        assert sum(outcomes.values()) == 12

    def test_they_are_found_while_others_are_deleted(self, registry: Registry, crew: Any) -> None:
        """As a vacuum looks for those of a group while others go."""
        kept = registry.create_view("p", view(name="kept"))
        registry.create_view("p", view())
        first = made(registry, kept)
        flights = registry.get_group("p", "flights", 1)
        for actor in crew[:2]:
            actor.send("make_and_delete_datasets", "delays@v1", 40)
        end, seen = time.monotonic() + 20, Counter()
        while seen["delays@v1"] < 40 and time.monotonic() < end:
            found = registry.datasets_of_group("p", flights)
            assert first in found
            seen.update(d.name for d in found)
            seen["looks"] += 1
        assert [actor.answer() for actor in crew[:2]] == ["deleted"] * 2
        assert registry.datasets_of_group("p", flights) == [first]
