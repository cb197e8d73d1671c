"""Every commit makes a snapshot; reads and queries can go back to one."""

import datetime as dt

import headrace as hr

seen = dt.datetime(2013, 1, 1, 10, 51, tzinfo=dt.UTC)

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    first = weather.insert([{"origin": "JFK", "observed_at": seen, "temp": 3.9}])
    second = weather.insert([{"origin": "JFK", "observed_at": seen, "temp": 3.5}])

    for commit in weather.history():  # newest first
        print(commit.snapshot, commit.timestamp, commit.operation, commit.rows_inserted, commit.rows_updated)
    assert [commit.snapshot for commit in weather.history(limit=2)] == [second.snapshot, first.snapshot]

    assert weather.read().to_arrow()["temp"].to_pylist() == [3.5]
    assert weather.read(snapshot=first.snapshot).to_arrow()["temp"].to_pylist() == [3.9]
    assert weather.read(timestamp=first.timestamp).to_arrow()["temp"].to_pylist() == [3.9]
    assert weather.as_of(snapshot=first.snapshot).select("temp").read().to_arrow()["temp"].to_pylist() == [
        3.9
    ]

    # In a training set: one table pinned, or all of them as they were at a time.
    flights = fs.create_feature_group("flights", primary_key=["flight_id"], event_time="sched_dep")
    flights.insert([{"flight_id": 1, "sched_dep": seen, "origin": "JFK", "arr_delay": 11.0}])
    columns = flights.select("origin", "arr_delay")
    pinned = columns.join(weather.as_of(snapshot=first.snapshot), on="origin", prefix="wx_")
    assert pinned.read().to_arrow()["wx_temp"].to_pylist() == [3.9]

    view = fs.create_feature_view(
        "delays", columns.join(weather, on="origin", prefix="wx_"), labels=["arr_delay"]
    )
    now = flights.history(limit=1)[0].timestamp
    weather.insert([{"origin": "JFK", "observed_at": seen, "temp": 99.0}])
    assert view.training_data().to_arrow()["wx_temp"].to_pylist() == [99.0]
    assert view.training_data(as_of=now).to_arrow()["wx_temp"].to_pylist() == [3.5]

    back = weather.restore(second.snapshot)  # a commit like any other
    assert weather.read().to_arrow()["temp"].to_pylist() == [3.5]
    assert weather.history(limit=1)[0].snapshot == back.snapshot

    try:
        weather.read(snapshot=1_000)
    except hr.SnapshotNotFound as error:
        print(error)
