"""Columns computed from others by SQL, in queries and in feature views."""

import pandas as pd

import headrace as hr

hours = pd.date_range("2013-01-01", periods=48, freq="h", tz="UTC")

with hr.connect("./lake", project="computed") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert(pd.DataFrame({"observed_at": hours, "origin": "JFK", "temp": range(48)}))
    flights = fs.create_feature_group("flights", primary_key=["id"], event_time="sched_dep")
    flights.insert(
        pd.DataFrame(
            {
                "id": range(48),
                "sched_dep": hours,
                "origin": "JFK",
                "arr_delay": [i * 1.0 - 20 for i in range(48)],
            }
        )
    )

    query = (
        flights.with_columns(hour="hour(sched_dep)", late="arr_delay > 15")
        .join(weather.select("temp"), on="origin", prefix="wx_")
        .with_columns(fahrenheit="wx_temp * 9 / 5 + 32", frost="case when wx_temp <= 0 then 1 else 0 end")
        .select("id", "hour", "fahrenheit", "frost", "late")
    )
    print(query.filter(query["fahrenheit"] > 100).read().to_pandas())
    view = fs.create_feature_view("delays", query, labels=["late"])
    X, y = view.training_data().xy()
    assert list(X.columns) == ["id", "hour", "fahrenheit", "frost"]
    assert y.sum() == 12

    # What is no formula is refused where it is written.
    try:
        flights.with_columns(secret="read_csv('/etc/passwd')")
    except hr.SqlRejected as error:
        print(error.code, error.message)
