"""Features for rows of your own: one row out for each row in, in the same order."""

import datetime as dt

import pandas as pd

import headrace as hr


def at(clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2013-01-01T{clock}+00:00")


with hr.connect("./lake", project="flights") as fs:
    flights = fs.create_feature_group("flights", primary_key=["flight_id"], event_time="sched_dep")
    flights.insert(
        [{"flight_id": 1, "sched_dep": at("11:15"), "origin": "JFK", "carrier": "UA", "arr_delay": 11.0}]
    )
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert(
        [{"origin": "JFK", "observed_at": at(c), "temp": t} for c, t in (("10:51", 1.0), ("11:51", 2.0))]
    )
    query = flights.select("arr_delay").join(weather, on="origin", prefix="wx_")
    view = fs.create_feature_view("delays", query, labels=["arr_delay"])

    # Unsorted, repeated, unknown: every row comes back. Its other columns pass through.
    own = pd.DataFrame(
        {
            "flight_id": [7, 8, 8, 9],
            "origin": ["JFK", "JFK", "JFK", "XXX"],
            "sched_dep": [at("12:00"), at("11:00"), at("11:00"), at("12:00")],
            "arr_delay": [5.0, 6.0, 6.0, 7.0],
            "note": list("abcd"),
        }
    )
    table = view.training_data(spine=own).to_arrow()
    assert table["wx_temp"].to_pylist() == [2.0, 1.0, 1.0, None]
    assert table["flight_id"].to_pylist() == [7, 8, 8, 9]
    assert table["note"].to_pylist() == ["a", "b", "c", "d"]

    # Predicting needs no labels. Without an event time, rows are asked for as of now.
    tonight = view.batch_data(spine=own.drop(columns=["arr_delay", "sched_dep"])).to_arrow()
    assert tonight["wx_temp"].to_pylist() == [2.0, 2.0, 2.0, None]

    # Their time may have another name.
    renamed = own.rename(columns={"sched_dep": "when"})
    table = view.training_data(spine=renamed, event_time="when").to_arrow()
    assert table["wx_temp"].to_pylist() == [2.0, 1.0, 1.0, None]
