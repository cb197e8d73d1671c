"""Features for rows of your own, by the names that Feast uses: no feature view is needed."""

import pandas as pd

import headrace as hr

hours = pd.date_range("2013-01-01", periods=24, freq="h", tz="UTC")

with hr.connect("./lake", project="feast") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="seen", ttl="6h")
    weather.insert(pd.DataFrame({"origin": "JFK", "seen": hours, "temp": [h / 2 for h in range(24)]}))
    planes = fs.create_feature_group("planes", primary_key=["tailnum"])
    planes.insert([{"tailnum": "N14228", "seats": 149}])

    entities = pd.DataFrame(
        {
            "origin": ["JFK", "JFK", "EWR"],
            "tailnum": ["N14228", "N14228", "N24211"],
            "event_timestamp": pd.to_datetime(
                ["2013-01-01 10:15", "2013-01-01 02:00", "2013-01-01 10:15"], utc=True
            ),
        }
    )
    features = fs.get_historical_features(
        entity_df=entities, features=["weather:temp", "planes:seats"], full_feature_names=True
    ).to_df()
    print(features)
    assert features["weather__temp"].dropna().tolist() == [5.0, 1.0]
    assert features["planes__seats"].dropna().tolist() == [149, 149]

    # The entities can be a query, too, in SQL over the project's groups.
    flights = fs.create_feature_group("flights", primary_key=["flight"], event_time="sched_dep")
    flights.insert([{"flight": 1545, "origin": "JFK", "sched_dep": hours[5].to_pydatetime()}])
    asked = fs.get_historical_features(
        "SELECT origin, sched_dep AS event_timestamp FROM flights", features=["weather:temp"]
    )
    assert asked.to_arrow()["temp"].to_pylist() == [2.5]
