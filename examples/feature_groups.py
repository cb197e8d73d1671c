"""Feature groups: create, get, list, tag, delete."""

import datetime as dt

import pyarrow as pa

import headrace as hr

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group(
        "weather",
        primary_key=["origin"],
        event_time="observed_at",
        ttl="6h",  # a reading older than this is not used in joins
        description="hourly readings at the airports",
        tags={"team": "weather"},
    )
    assert (weather.name, weather.version, weather.format) == ("weather", 1, "delta")
    assert (weather.primary_key, weather.event_time) == (("origin",), "observed_at")
    assert (weather.created_time, weather.ttl) == (None, dt.timedelta(hours=6))
    assert weather.schema is None  # the first insert sets it
    print(hr.__version__, fs.project, weather.location)  # where the Delta table lies, for other tools

    # With a schema the group can be read before the first insert.
    schema = pa.schema({"tailnum": pa.string(), "seats": pa.int32()})
    planes = fs.create_feature_group("planes", primary_key=["tailnum"], schema=schema)
    assert planes.read().to_arrow().num_rows == 0

    # All that can be declared: how rows lie, when they may be used, which of two at one time wins.
    delays = fs.create_feature_group(
        "delays",
        primary_key=["tailnum"],
        event_time="landed_at",
        partition_by=["origin"],
        min_age="10m",  # a row is used from ten minutes after its event on
        tie_breaker="leg",
        change_feed=True,
    )
    assert (delays.partition_by, delays.min_age) == (("origin",), dt.timedelta(minutes=10))
    assert (delays.tie_breaker, delays.change_feed) == ("leg", True)

    # Times as whole numbers: what they count since 1970 must be said.
    clicks = fs.create_feature_group(
        "clicks",
        primary_key=["user"],
        event_time="at",
        event_time_unit="ms",
        schema=pa.schema({"user": pa.string(), "at": pa.int64()}),
    )
    assert clicks.event_time_unit == "ms"

    # Running a script twice: the group is made once, and must then be declared alike.
    again = fs.get_or_create_feature_group(
        "weather", primary_key=["origin"], event_time="observed_at", ttl="6h"
    )
    assert again.version == 1
    try:
        fs.get_or_create_feature_group("weather", primary_key=["origin"], event_time="observed_at", ttl="1h")
    except hr.DefinitionMismatch as error:
        print(error)

    # Versions live side by side; a name alone means the newest.
    newer = fs.create_feature_group("weather", primary_key=["origin", "station"], event_time="observed_at")
    assert newer.version == 2
    assert fs.get_feature_group("weather").version == 2
    assert fs.get_feature_group("weather", version=1).description == "hourly readings at the airports"

    weather.set_tags({"team": None, "unit": "celsius"})  # None removes a tag
    assert weather.tags == {"unit": "celsius"}
    assert [(g.name, g.version) for g in fs.list_feature_groups(name="w*")] == [
        ("weather", 1),
        ("weather", 2),
    ]
    assert [g.version for g in fs.list_feature_groups(tags={"unit": "celsius"})] == [1]

    fs.delete_feature_group("weather", 2)
    try:
        fs.get_feature_group("weather", version=2)
    except hr.NotFound as error:
        print(error)
