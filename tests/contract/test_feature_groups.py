"""Feature groups: create, get, list, delete, and what may name them."""

from __future__ import annotations

import datetime as dt
import shutil
import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh
from contract.helpers import (
    BAD_NAMES,
    ODD_NAMES,
    SQL_NAMES,
    TIME,
    WEATHER,
    frame,
    make_flights,
    make_weather,
    rows,
    snapshot,
    values,
)
from headrace.model.name import MAX_COLUMN_BYTES, MAX_COLUMNS


class TestCreate:
    def test_gives_what_was_declared(self, store):
        schema = WEATHER.append(pa.field("year", pa.int32())).append(pa.field("recorded", TIME))
        group = store.create_feature_group(
            "weather", primary_key=["origin"], event_time="seen", created_time="recorded", partition_by=["year"],
            ttl="6h", min_age="1us", tie_breaker="temp", schema=schema, change_feed=False, description="hourly",
            tags={"team": "ops"},
        )  # fmt: skip
        for found in (group, store.get_feature_group("weather")):
            assert (found.name, found.version) == ("weather", 1)
            assert list(found.primary_key) == ["origin"]
            assert (found.event_time, found.created_time) == ("seen", "recorded")
            assert (found.ttl, found.min_age) == (dt.timedelta(hours=6), dt.timedelta(microseconds=1))
            assert (found.tie_breaker, found.change_feed) == ("temp", False)
            assert list(found.partition_by) == ["year"]
            assert found.schema == schema
            assert (found.format, found.description, dict(found.tags)) == ("delta", "hourly", {"team": "ops"})
            assert found.location

    def test_what_was_not_declared_is_none(self, store):
        group = store.create_feature_group("g", primary_key=["id"])
        assert (group.event_time, group.created_time, group.tie_breaker) == (None, None, None)
        assert (group.ttl, group.min_age) == (None, None)
        assert (list(group.partition_by), group.change_feed) == ([], True)

    def test_the_first_insert_sets_the_schema(self, store):
        group = store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
        assert group.schema is None
        group.insert(frame(WEATHER, ("JFK", "10:00", 1.0)))
        assert group.schema == WEATHER
        assert store.get_feature_group("weather").schema == WEATHER

    def test_a_schema_gives_an_empty_table_that_reads(self, store):
        table = make_weather(store).read().to_arrow()
        assert table.num_rows == 0
        assert table.schema == WEATHER

    def test_version_none_is_the_next_free_one(self, store):
        versions = [store.create_feature_group("g", primary_key=["id"]).version for _ in range(3)]
        assert versions == [1, 2, 3]
        assert store.create_feature_group("g", primary_key=["id"], version=7).version == 7
        assert store.create_feature_group("g", primary_key=["id"]).version == 8

    def test_a_version_that_nobody_asked_for_is_warned_of(self, store):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store.create_feature_group("g", primary_key=["id"])
            store.create_feature_group("g", primary_key=["id"], version=2)
        with pytest.warns(UserWarning, match="feature group g was there: this is version 3") as caught:
            store.create_feature_group("g", primary_key=["id"])
        assert caught[0].filename == __file__

    def test_an_existing_version_already_exists(self, store):
        store.create_feature_group("g", primary_key=["id"], version=1)
        with pytest.raises(hr.AlreadyExists, match="g@v1"):
            store.create_feature_group("g", primary_key=["id"], version=1)

    @pytest.mark.parametrize("version", [0, -1, 1.5, "1", True])
    def test_a_version_is_a_whole_number_from_one(self, store, version):
        with pytest.raises(hr.InvalidArgument):
            store.create_feature_group("g", primary_key=["id"], version=version)

    @pytest.mark.parametrize(
        "definition",
        [
            {"primary_key": ["nowhere"]},
            {"primary_key": ["origin"], "event_time": "nowhere"},
            {"primary_key": ["origin"], "created_time": "temp"},
            {"primary_key": ["origin"], "partition_by": ["nowhere"]},
            {"primary_key": ["origin"], "event_time": "seen", "tie_breaker": "nowhere"},
            {"primary_key": ["origin", "origin"]},
            {"primary_key": ["origin"], "event_time": "origin"},
            {"primary_key": ["origin"], "event_time": "seen", "ttl": "soon"},
            {"primary_key": ["origin"], "event_time": "seen", "ttl": "-1h"},
            {"primary_key": ["origin"], "event_time": "seen", "min_age": 5},
            {"primary_key": "origin, seen"},
        ],
    )
    def test_a_definition_that_its_schema_contradicts_is_refused(self, store, definition):
        with pytest.raises((hr.InvalidArgument, hr.BadData)):
            store.create_feature_group("g", schema=WEATHER, **definition)
        assert store.list_feature_groups() == []

    def test_types_with_no_counterpart_in_the_table_are_refused(self, store):
        for kind in (pa.uint64(), pa.duration("s"), pa.time64("us"), pa.month_day_nano_interval(), pa.null()):
            with pytest.raises((hr.InvalidArgument, hr.BadData), match="odd"):
                store.create_feature_group(
                    "g", primary_key=["id"], schema=pa.schema({"id": pa.int64(), "odd": kind})
                )


class TestNames:
    def test_of_groups_are_lower_case_identifiers(self, store):
        for name in [*BAD_NAMES, None, 3]:
            with pytest.raises(hr.InvalidName):
                store.create_feature_group(name, primary_key=["id"])
            with pytest.raises(hr.InvalidName):
                store.get_or_create_feature_group(name, primary_key=["id"])
            with pytest.raises((hr.InvalidName, hr.NotFound)):
                store.get_feature_group(name)
        assert store.list_feature_groups() == []

    def test_of_projects_are_too(self, target):
        for name in [*BAD_NAMES, None, 3]:
            with pytest.raises(hr.InvalidName):
                hr.connect(target, project=name).list_feature_groups()

    @pytest.mark.parametrize("name", SQL_NAMES)
    def test_that_are_sql_keywords_work(self, store, name):
        group = make_weather(store, ("JFK", "10:00", 1.0), name=name)
        flights = make_flights(store, (1, "11:00", "JFK", 0.0))
        assert values(flights.join(group, on="origin").read(), "temp") == [1.0]
        store.delete_feature_group(name, 1)

    def test_of_columns_may_be_any_printable_text(self, store):
        """Every odd name as key, event time, created time, partition, feature, in filters, joins and prefixes."""
        names = ODD_NAMES
        key, time, created, partition, other_key, *features = names
        schema = pa.schema(
            [
                (key, pa.string()),
                (time, TIME),
                (created, TIME),
                (partition, pa.string()),
                (other_key, pa.int64()),
            ]
            + [(name, pa.float64()) for name in features]
        )
        group = store.create_feature_group(
            "odd", primary_key=[key, other_key], event_time=time, created_time=created, partition_by=[partition],
            tie_breaker=features[0], schema=schema,
        )  # fmt: skip
        numbers = [float(i) for i in range(len(features))]
        group.insert(
            frame(
                schema,
                ("k", "10:00", "10:00", "part", 1, *numbers),
                ("l", "10:00", "10:00", "part", 1, *numbers),
            )
        )
        group.insert(frame(schema, ("k", "10:00", "10:00", "part", 1, *(n + 1 for n in numbers))))
        assert group.schema == schema
        for i, name in enumerate(features):
            assert values(group.read([name], filter=(group[name] == i + 1) & (group[key] == "k")), name) == [
                i + 1
            ]
        assert sorted(values(group.read([key], filter=group[partition] == "part", latest=True), key)) == [
            "k",
            "l",
        ]
        root = store.create_feature_group(
            "root", primary_key=[key, other_key], event_time=time, schema=schema
        )
        root.insert(frame(schema, ("k", "11:00", "11:00", "p", 1, *numbers)))
        for prefix in ['"', "'", "x y ", "; --", "名"]:
            query = root.select(key, features[0]).join(group.select(*features), prefix=prefix)
            query = query.filter(query[prefix + features[1]] == 2.0)
            assert [row[prefix + features[2]] for row in rows(query.read())] == [3.0]
        on = {key: key, other_key: other_key}
        view = store.create_feature_view(
            "view", root.join(group.select(*features), on=on, prefix="p "), labels=[features[0]]
        )
        spine = root.read().to_arrow()
        assert values(view.training_data(spine=spine), "p " + features[0]) == [1.0]
        assert group.delete(filter=group[features[0]] == 0.0).rows_deleted == 1

    @pytest.mark.parametrize(
        "name", ["", "a\nb", "a\x00b", "tab\t", "back`tick", "\u202e", "x" * (MAX_COLUMN_BYTES + 1)]
    )
    def test_of_columns_that_cannot_be_printed_are_refused(self, store, name):
        schema = pa.schema({"id": pa.int64(), name: pa.int64()})
        with pytest.raises(hr.InvalidName):
            store.create_feature_group("g", primary_key=["id"], schema=schema)
        group = store.create_feature_group("g", primary_key=["id"])
        with pytest.raises((hr.InvalidName, hr.BadData)):
            group.insert(frame(schema, (1, 2)))
        assert group.schema is None

    def test_of_columns_that_the_change_feed_uses_are_reserved(self, store):
        for name in ("_change_type", "_commit_version", "_commit_timestamp"):
            with pytest.raises(hr.InvalidName, match="reserved"):
                store.create_feature_group(
                    "g", primary_key=["id"], schema=pa.schema({"id": pa.int64(), name: pa.int64()})
                )


class TestManyColumns:
    @pytest.mark.slow
    def test_up_to_the_limit(self, store):
        schema = pa.schema({"id": pa.int64()} | {f"f{i}": pa.int8() for i in range(MAX_COLUMNS - 1)})
        group = store.create_feature_group("wide", primary_key=["id"], schema=schema)
        group.insert(frame(schema, (1, *(i % 100 for i in range(MAX_COLUMNS - 1)))))
        assert values(group.read(["f4000"]), "f4000") == [0]

    def test_more_are_refused_in_creation_and_insert(self, store):
        schema = pa.schema({"id": pa.int64()} | {f"f{i}": pa.int8() for i in range(MAX_COLUMNS)})
        with pytest.raises(hr.HeadraceError, match=str(MAX_COLUMNS)) as caught:
            store.create_feature_group("wide", primary_key=["id"], schema=schema)
        assert isinstance(caught.value, hr.InvalidArgument | hr.BadData | hr.LimitExceeded)
        group = store.create_feature_group("wide", primary_key=["id"])
        with pytest.raises((hr.InvalidArgument, hr.BadData, hr.LimitExceeded), match=str(MAX_COLUMNS)):
            group.insert(schema.empty_table())
        assert group.schema is None


class TestGet:
    def test_newest_version_or_the_one_named(self, store):
        for version in (1, 2, 10):
            store.create_feature_group(
                "g", primary_key=["id"], version=version, description=f"number {version}"
            )
        assert store.get_feature_group("g").version == 10
        assert store.get_feature_group("g", 2).description == "number 2"

    def test_absent_is_not_found(self, store):
        store.create_feature_group("g", primary_key=["id"])
        for name, version in (("h", None), ("g", 2)):
            with pytest.raises(hr.NotFound, match=name):
                store.get_feature_group(name, version)

    def test_projects_do_not_see_each_other(self, store, target):
        store.create_feature_group("g", primary_key=["id"])
        with hr.connect(target, project=fresh("other")) as other:
            assert other.list_feature_groups() == []
            with pytest.raises(hr.NotFound):
                other.get_feature_group("g")
            other.create_feature_group("g", primary_key=["other"])
        assert list(store.get_feature_group("g").primary_key) == ["id"]


class TestGetOrCreate:
    def test_creates_then_gets(self, store):
        definition = {"primary_key": ["origin"], "event_time": "seen", "ttl": "6h"}
        first = store.get_or_create_feature_group("weather", **definition)
        first.insert(frame(WEATHER, ("JFK", "10:00", 1.0)))
        second = store.get_or_create_feature_group("weather", **definition)
        assert (first.name, first.version) == (second.name, second.version) == ("weather", 1)
        assert values(second.read(), "temp") == [1.0]

    def test_another_definition_is_a_mismatch_that_says_where(self, store):
        store.get_or_create_feature_group("weather", primary_key=["origin"], event_time="seen", ttl="6h")
        for change in ({"primary_key": ["station"]}, {"event_time": None}, {"ttl": "7h"}, {"ttl": None}):
            definition = {"primary_key": ["origin"], "event_time": "seen", "ttl": "6h"} | change
            with pytest.raises(hr.DefinitionMismatch, match=next(iter(change))):
                store.get_or_create_feature_group("weather", **definition)
        assert store.get_or_create_feature_group(
            "weather", version=2, primary_key=["station"], event_time="seen"
        ).version == 2  # fmt: skip


class TestList:
    def test_every_version_by_name_and_version(self, store):
        for name, version in (("b", 1), ("a", 2), ("a", 1), ("a", 10)):
            store.create_feature_group(name, primary_key=["id"], version=version)
        found = [(group.name, group.version) for group in store.list_feature_groups()]
        assert found == [("a", 1), ("a", 2), ("a", 10), ("b", 1)]

    def test_by_glob_and_tags(self, store):
        for name, tags in (
            ("wx_hour", {"team": "a"}),
            ("wx_day", {"team": "b", "pii": "no"}),
            ("flights", {"team": "a"}),
        ):
            store.create_feature_group(name, primary_key=["id"], tags=tags)

        def names(**options):
            return [group.name for group in store.list_feature_groups(**options)]

        assert names(name="wx_*") == ["wx_day", "wx_hour"]
        assert names(name="wx_????") == ["wx_hour"]
        assert names(name="%") == []
        assert names(tags={"team": "a"}) == ["flights", "wx_hour"]
        assert names(tags={"team": "b", "pii": "no"}) == ["wx_day"]
        assert names(name="w*", tags={"team": "a"}) == ["wx_hour"]
        assert names(tags={"team": "c"}) == []

    def test_by_words(self, store):
        store.create_feature_group(
            "wx",
            primary_key=["id"],
            description="Hourly readings",
            tags={"team": "Met"},
            schema=pa.schema({"id": pa.int64(), "wind_speed": pa.float64()}),
        )
        store.create_feature_group("flights", primary_key=["id"], description="one a departure")
        for words, expected in (
            ("WX", ["wx"]),
            ("readings hour", ["wx"]),
            ("met", ["wx"]),
            ("wind", ["wx"]),
            ("wind departure", []),
            ("%", []),
            ("", ["flights", "wx"]),
        ):
            assert [group.name for group in store.list_feature_groups(search=words)] == expected
        for words in (5, ["wx"]):
            with pytest.raises(hr.InvalidArgument):
                store.list_feature_groups(search=words)

    def test_tags_set_and_removed(self, store):
        group = store.create_feature_group("g", primary_key=["id"], tags={"a": "1", "b": "2"})
        group.set_tags({"a": None, "b": "3", "c": "4"})
        assert dict(group.tags) == dict(store.get_feature_group("g").tags) == {"b": "3", "c": "4"}

    @pytest.mark.local_files
    def test_a_damaged_table_hides_no_others(self, store):
        whole, damaged = make_weather(store), make_flights(store, (1, "10:00", "JFK", 1.0))
        entry = Path(damaged.location) / "_delta_log" / f"{snapshot(damaged) + 1:020}.json"
        entry.write_bytes(b"\xff damaged")
        found = {group.name: group for group in store.list_feature_groups()}
        assert found["weather"].schema == whole.schema
        assert found["flights"].location == damaged.location
        for call in (lambda: found["flights"].schema, lambda: store.get_feature_group("flights")):
            with pytest.raises(hr.CorruptTable):
                call()
        store.delete_feature_group("flights", 1)
        assert [group.name for group in store.list_feature_groups()] == ["weather"]


class TestDelete:
    def test_one_version_with_its_rows(self, store):
        first = make_weather(store, ("JFK", "10:00", 1.0))
        make_weather(store, ("JFK", "10:00", 2.0), version=2)
        store.delete_feature_group("weather", 1)
        assert [group.version for group in store.list_feature_groups()] == [2]
        with pytest.raises(hr.NotFound):
            first.read().to_arrow()
        with pytest.raises(hr.NotFound):
            first.insert(frame(WEATHER, ("JFK", "10:00", 1.0)))
        assert values(store.get_feature_group("weather").read(), "temp") == [2.0]

    def test_a_group_made_again_starts_empty(self, store):
        make_weather(store, ("JFK", "10:00", 1.0))
        store.delete_feature_group("weather", 1)
        again = make_weather(store)
        assert rows(again.read()) == []
        again.insert(frame(WEATHER, ("LGA", "10:00", 5.0)))
        assert values(again.read(), "temp") == [5.0]

    def test_absent_is_not_found(self, store):
        with pytest.raises(hr.NotFound):
            store.delete_feature_group("weather", 1)

    def test_one_that_a_view_needs_is_a_conflict_unless_forced(self, store):
        weather, flights = make_weather(store), make_flights(store)
        store.create_feature_view("delays", flights.join(weather, on="origin"))
        for name in ("weather", "flights"):
            with pytest.raises(hr.Conflict, match="delays"):
                store.delete_feature_group(name, 1)
        store.delete_feature_group("weather", 1, force=True)
        with pytest.raises(hr.NotFound, match="weather"):
            store.get_feature_view("delays").training_data().to_arrow()


class TestColumn:
    def test_by_brackets_and_by_attribute(self, store):
        group = store.create_feature_group(
            "g",
            primary_key=["id"],
            schema=pa.schema({"id": pa.int64(), "temp": pa.int64(), "read": pa.int64()}),
        )
        assert isinstance(group["temp"], hr.Column)
        assert isinstance(group.temp, hr.Column)
        assert isinstance(group["read"], hr.Column)
        assert callable(group.read)

    def test_unknown_is_told(self, store):
        group = make_weather(store)
        with pytest.raises(hr.UnknownColumn, match="tmep"):
            group["tmep"]
        with pytest.raises(AttributeError):
            group.tmep  # noqa: B018
        assert not hasattr(group, "tmep")

    def test_comparisons_without_brackets(self, store):
        temp = make_weather(store)["temp"]
        for wrong in (lambda: temp > 1 & temp < 3, lambda: temp < 1 | temp, lambda: (temp > 1) & 3):
            with pytest.raises(hr.InvalidArgument) as caught:
                wrong()
            assert "brackets" in caught.value.hint

    def test_a_condition_in_the_place_of_names(self, store):
        group = make_weather(store)
        with pytest.raises(hr.InvalidArgument) as caught:
            group.read(group["temp"] > 1)
        assert caught.value.hint == "give it as filter="

    def test_before_there_are_columns(self, store):
        group = store.create_feature_group("g", primary_key=["id"])
        with pytest.raises(AttributeError, match="it has no columns yet"):
            group.temp  # noqa: B018


class TestLost:
    """A table that was there and is not is no table that never was."""

    @pytest.mark.local_files
    @pytest.mark.parametrize(
        ("declared", "what"), [(True, ""), (False, ""), (False, "_delta_log/00000000000000000000.json")]
    )
    def test_is_told_from_one_never_written(self, store, target, tmp_path, declared, what):
        group = (
            make_weather(store, ("JFK", "10:00", 1.0))
            if declared
            else store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
        )
        group.insert(frame(WEATHER, ("EWR", "10:00", 2.0)))
        flights = make_flights(store, (1, "10:30", "EWR", 0.0))
        result = flights.select("flight_id").join(group.select("temp"), on="origin")
        place, away = Path(group.location) / what, tmp_path / "away"
        place.rename(away)
        with hr.connect(target, project=store.project) as other:  # that has not seen it
            for lost in (group, store.get_feature_group, other.get_feature_group):
                with pytest.raises(hr.CorruptTable, match="is lost"):
                    (lost if lost is group else lost("weather")).read().to_arrow()
        with pytest.raises(hr.CorruptTable, match="is lost"):
            result.read().to_arrow()
        for write in (
            lambda: group.insert(frame(WEATHER, ("LGA", "10:00", 3.0))),
            lambda: group.delete(filter=group["temp"] > 0),
            lambda: group.history(),
        ):
            with pytest.raises(hr.CorruptTable, match="is lost"):
                write()
        assert [g.name for g in store.list_feature_groups()] == ["flights", "weather"]
        place.parent.mkdir(exist_ok=True)
        away.rename(place)
        assert sorted(values(group.read(), "origin")) == (["EWR", "JFK"] if declared else ["EWR"])
        shutil.rmtree(group.location)
        store.delete_feature_group("weather", 1)
        assert store.create_feature_group("weather", primary_key=["origin"]).schema is None

    def test_a_first_insert_cut_off_loses_nothing(self, store, target):
        group = store.create_feature_group("weather", primary_key=["origin"], event_time="seen")
        log = Path(group.location) / "_delta_log"
        log.mkdir(parents=True)
        (log / "00000000000000000000.json#1").touch()  # as a kill leaves it, before the entry has its name
        with hr.connect(target, project=store.project) as other:
            assert other.get_feature_group("weather").schema is None
            assert other.get_feature_group("weather").history() == []
        group.insert(frame(WEATHER, ("EWR", "10:00", 2.0)))
        assert values(group.read(), "origin") == ["EWR"]


@pytest.mark.parametrize("given", [None, 5, {"id"}])
def test_names_that_are_no_list(store, given):
    with pytest.raises(hr.InvalidArgument, match="primary_key takes several names"):
        store.create_feature_group("g", primary_key=given)
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert([{"id": 1}])
    with pytest.raises(hr.InvalidArgument, match="zorder takes several names"):
        group.compact(zorder=given)


@pytest.mark.parametrize("age", [pd.Timedelta("500ns"), pd.Timedelta("1us1ns"), "1ns", "-1s", -1, "soon"])
def test_ages_that_are_none_are_refused(store, age):
    with pytest.raises(hr.InvalidArgument):
        store.create_feature_group("g", primary_key=["k"], event_time="t", min_age=age)
