"""Columns that are added, or widened: old rows, old snapshots and old datasets read on."""

import pyarrow as pa

import headrace as hr

with hr.connect("./lake", project="evolution") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    schema = pa.schema(
        {"origin": pa.string(), "observed_at": pa.timestamp("us", "UTC"), "temp": pa.float32()}
    )
    day = pa.table({"origin": ["JFK"], "observed_at": pa.array([1_356_998_400_000_000]), "temp": [3.5]})
    weather.insert(day.cast(schema))

    # A new column, and a wider type for an old one: one commit, which changes no row.
    commit = weather.add_features({"humidity": pa.float64(), "temp": pa.float64()})
    print(commit.operation, commit.snapshot, weather.schema)
    assert weather.read().to_arrow()["humidity"].to_pylist() == [None]

    weather.insert(
        pa.table(
            {
                "origin": ["JFK"],
                "observed_at": pa.array([1_357_002_000_000_000], pa.timestamp("us", "UTC")),
                "temp": [0.1],
                "humidity": [88.0],
            }
        )
    )
    assert sorted(weather.read().to_arrow()["temp"].to_pylist()) == [0.1, 3.5]
    assert weather.read(["humidity"], snapshot=0).to_arrow()["humidity"].to_pylist() == [None]

    # What would lose values is refused, and the table stays as it was.
    try:
        weather.add_features({"temp": pa.int64()})
    except hr.SchemaMismatch as error:
        print(error)
