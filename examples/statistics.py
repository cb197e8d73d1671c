"""What there is to tell of the values of each feature, computed once a snapshot."""

import pandas as pd

import headrace as hr

hours = pd.date_range("2013-01-01", periods=200, freq="h", tz="UTC")

with hr.connect("./lake", project="statistics") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert(
        pd.DataFrame(
            {
                "observed_at": hours,
                "origin": ["JFK", "EWR"] * 100,
                "temp": [None if i % 10 == 0 else float(i % 40) for i in range(200)],
            }
        )
    )

    told = weather.statistics().to_pandas().set_index("feature")
    print(told[["count", "nulls", "distinct", "min", "max", "mean", "p50"]])
    assert told.loc["temp", "nulls"] == 20

    # Of some features, of an older snapshot; what is not exact is named.
    (row,) = weather.statistics(["temp"], snapshot=0).to_arrow().to_pylist()
    print(row["approximate"])
    for value in row["histogram"]:
        print(f"{value['low']:>6} {value['high']:>6} {'#' * value['count']}")
