"""Several processes on one registry, some of them killed."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from headrace.errors import Busy, NotFound
from headrace.model.definition import GroupDefinition
from headrace.registry import Registry
from headrace.registry.database import Database


def group(name: str) -> GroupDefinition:
    return GroupDefinition(name=name, version=0, primary_key=("id",))


def test_an_empty_database_is_made_ready_once(url: str, crew: Any) -> None:
    assert crew.call("open", url) == ["open"] * 4
    assert sorted(crew.call("create_group", "weather", 0)) == [1, 2, 3, 4]


def test_one_of_several_creates_a_version(url: str, crew: Any) -> None:
    crew.call("open", url)
    for version in range(1, 11):
        answers = Counter(crew.call("create_group", "weather", version))
        assert answers == {version: 1, "ALREADY_EXISTS": 3}


def test_next_versions_are_given_once(url: str, crew: Any) -> None:
    crew.call("open", url)
    answers = crew.call("create_groups", "weather", 15)
    assert sorted(version for answer in answers for version in answer) == list(range(1, 61))
    assert all(answer == sorted(answer) for answer in answers)


def test_no_view_is_left_without_its_group(url: str, registry: Registry, crew: Any) -> None:
    crew.call("open", url)
    outcomes = Counter()
    for turn in range(20):
        registry.create_group("p", group(f"g{turn}"))
        deleter, *creators = crew if turn % 2 else crew[::-1]
        calls = [(deleter, ("delete_group", f"g{turn}", 1))]
        calls[turn % 3 : 0] = [(creator, ("create_view", f"v{turn}", f"g{turn}@v1")) for creator in creators]
        for actor, call in calls:
            actor.send(*call)
        answers = {actor: actor.answer() for actor, _ in calls}
        deleted = answers.pop(deleter)
        views = registry.list_views("p", f"v{turn}", {})
        outcomes[deleted] += 1
        if deleted == "CONFLICT":
            assert sorted(answers.values()) == [1, 2, 3]
            assert registry.get_group("p", f"g{turn}", 1).version == 1
        else:
            assert deleted == 1
            assert set(answers.values()) == {"NOT_FOUND"}
            assert views == []
    assert sum(outcomes.values()) == 20


def test_a_deletion_not_yet_committed_holds_views_back(url: str, registry: Registry, crew: Any) -> None:
    other = crew[0]
    registry.create_group("p", group("weather"))
    other.call("open", url)
    with Database(url).writing() as connection:
        registry._groups.remove(connection, "p", "weather", 1)
        other.send("create_view", "delays", "weather@v1")
        time.sleep(0.2)
    assert other.answer() == "NOT_FOUND"
    assert registry.list_views("p", None, {}) == []


def test_readers_go_on_beside_a_writer(url: str, registry: Registry, crew: Any) -> None:
    other = crew[0]
    made = registry.create_group("p", group("weather"))
    assert other.call("hold", url, "weather") == "holding"
    assert registry.get_group("p", "weather", None) == made
    assert registry.list_groups("p", None, {}) == [made]
    with ThreadPoolExecutor(30) as pool:
        waiting = [pool.submit(registry.create_group, "p", group("planes")) for _ in range(30)]
        assert registry.get_group("p", "weather", None) == made
        other.send("commit")
        assert sorted(turn.result().version for turn in waiting) == list(range(1, 31))
    assert other.answer() == "committed"
    assert registry.get_group("p", "weather", None).version == 2


def test_a_writer_goes_on_beside_a_reader(url: str, registry: Registry, crew: Any) -> None:
    crew[0].call("open", url)
    for _ in range(2):
        registry.create_group("p", group("weather"))
    database = Database(url)
    with database.reading() as connection:
        rows = connection.execute(text("SELECT version FROM feature_group ORDER BY version"))
        assert rows.fetchone() == (1,)
        assert crew[0].call("create_group", "weather", 0) == 3
        assert rows.fetchall() == [(2,)]
    database.close()


def test_a_writer_waits_no_longer_than_its_patience(url: str, registry: Registry, crew: Any) -> None:
    other = crew[0]
    assert other.call("hold", url, "weather") == "holding"
    hasty = Registry(Database(url, patience=0.2))
    with ThreadPoolExecutor(3) as pool:
        for turn in [pool.submit(hasty.create_group, "p", group("weather")) for _ in range(3)]:
            with pytest.raises(Busy) as caught:
                turn.result()
            assert caught.value.retry_after > 0
    other.send("commit")
    assert other.answer() == "committed"
    assert hasty.create_group("p", group("weather")).version == 2
    hasty.close()


def test_a_killed_writer_leaves_nothing(url: str, registry: Registry, victim: Any) -> None:
    assert victim.call("hold", url, "weather") == "holding"
    victim.kill()
    with pytest.raises(NotFound):
        registry.get_group("p", "weather", None)
    assert registry.create_group("p", group("weather")).version == 1


def test_a_killed_migration_leaves_nothing(url: str, victim: Any) -> None:
    assert victim.call("hold_migration", url) == "holding"
    victim.kill()
    registry = Registry.open(url)
    assert registry.create_group("p", group("weather")).version == 1
    registry.close()


def test_a_registry_survives_a_writer_killed_anywhere(url: str, registry: Registry, victim: Any) -> None:
    victim.call("open", url)
    victim.send("create_groups", "weather", 100_000)
    deadline = time.monotonic() + 60
    while len(registry.list_groups("p", None, {})) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    victim.kill()
    time.sleep(1)  # a commit on its way to a server may still land
    made = registry.list_groups("p", None, {})
    assert [definition.version for definition in made] == list(range(1, len(made) + 1))
    assert registry.list_groups("p", None, {"made": "here"}) == made
    assert registry.create_group("p", group("weather")).version == len(made) + 1
