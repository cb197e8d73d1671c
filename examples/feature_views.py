"""Feature views: one definition for training and for predicting."""

import datetime as dt

import pandas as pd
import polars as pl

import headrace as hr


def at(day: int, clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2013-01-{day:02}T{clock}+00:00")


with hr.connect("./lake", project="flights") as fs:
    flights = fs.create_feature_group("flights", primary_key=["flight_id"], event_time="sched_dep")
    flights.insert(
        [
            {"flight_id": n, "sched_dep": at(n, "11:15"), "origin": "JFK", "arr_delay": 10.0 * n}
            for n in range(1, 11)
        ]
    )
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert([{"origin": "JFK", "observed_at": at(n, "10:51"), "temp": float(n)} for n in range(1, 11)])

    query = flights.select("flight_id", "arr_delay").join(weather, on="origin", prefix="wx_", max_age="2h")
    view: hr.FeatureView = fs.create_feature_view(
        "delays", query, labels=["arr_delay"], description="how late?", tags={"owner": "ops"}
    )
    assert (view.name, view.version, view.description, view.tags) == (
        "delays",
        1,
        "how late?",
        {"owner": "ops"},
    )
    assert (view.features, view.labels) == (("flight_id", "wx_temp"), ("arr_delay",))
    assert isinstance(view.query, hr.Query)
    # A script that runs again finds its view; other queries or labels under the name are refused.
    assert fs.get_or_create_feature_view("delays", query, labels=["arr_delay"]).version == 1
    print(view.explain("2013-01-01", "2013-01-08"))

    # Training: rows from start until before end, labels beside features, from one execution.
    train = view.training_data("2013-01-01", "2013-01-08")
    X, y = train.xy()
    assert isinstance(X, pd.DataFrame)
    assert isinstance(y, pd.Series)
    assert list(X.columns) == ["flight_id", "wx_temp"]
    assert sorted(y) == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
    features, labels = train.xy(to="polars")
    assert isinstance(features, pl.DataFrame)
    assert labels.name == "arr_delay"

    # Predicting: the same features, no labels.
    tonight = view.batch_data(start="2013-01-08")
    assert tonight.schema.names == ["flight_id", "wx_temp"]
    assert tonight.to_arrow().num_rows == 3

    # Versions, as for groups; a view keeps the versions of the groups that it was made of.
    newer = fs.create_feature_view("delays", query.limit(5), labels=["arr_delay"])
    assert newer.version == fs.get_feature_view("delays").version == 2
    assert [v.version for v in fs.list_feature_views(name="del*", tags={"owner": "ops"})] == [1]
    try:
        fs.delete_feature_group("weather", 1)
    except hr.Conflict as error:
        print(error)
    fs.delete_feature_view("delays", 2)
    assert fs.get_feature_view("delays").version == 1
