"""Point-in-time joins: each row sees the newest feature known at its own time, and nothing later."""

import datetime as dt

import headrace as hr


def at(clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2013-01-01T{clock}+00:00")


with hr.connect("./lake", project="flights") as fs:
    flights = fs.create_feature_group("flights", primary_key=["clock"], event_time="sched_dep")
    clocks = ["10:00", "10:51", "11:30", "13:51", "13:52"]
    flights.insert([{"clock": c, "sched_dep": at(c), "origin": "JFK"} for c in clocks])
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    readings = [("10:51", 1.0), ("11:51", 2.0)]
    weather.insert([{"origin": "JFK", "observed_at": at(c), "temp": t} for c, t in readings])

    def temps(weather: hr.FeatureGroup | hr.Query = weather, **join: str) -> list[float | None]:
        query = flights.select("clock").join(weather, on="origin", **join)
        return [
            row["temp"] for row in sorted(query.read().to_arrow().to_pylist(), key=lambda row: row["clock"])
        ]

    # Before the first reading there is nothing; a reading of the same instant counts.
    assert temps() == [None, 1.0, 1.0, 2.0, 2.0]
    # Not older than two hours: at the limit it still counts.
    assert temps(max_age="2h") == [None, 1.0, 1.0, 2.0, None]
    # Published with a delay: what is younger is skipped, and the next older one used.
    assert temps(min_age="10m") == [None, None, 1.0, 2.0, 2.0]

    # Both can be declared once, on the group; a join may lift them.
    short = fs.create_feature_group(
        "weather", primary_key=["origin"], event_time="observed_at", ttl="30m", version=2
    )
    short.insert(weather.read())
    assert temps(short) == [None, 1.0, None, None, None]
    assert temps(short, max_age="unlimited") == temps()

    # Times are instants: the same reading, told in New York's time.
    eastern = dt.timezone(-dt.timedelta(hours=5))
    weather.insert([{"origin": "JFK", "observed_at": at("13:00").astimezone(eastern), "temp": 3.0}])
    assert temps() == [None, 1.0, 1.0, 3.0, 3.0]

    # A group joined to itself would find its own row; asking for strictly earlier ones is allowed.
    try:
        weather.join(weather, on="origin", prefix="prev_")
    except hr.Leakage as error:
        print(error)
    before = weather.select("temp").join(weather.select("temp"), on="origin", prefix="prev_", min_age="1us")
    assert sorted(map(str, before.read().to_arrow()["prev_temp"].to_pylist())) == ["1.0", "2.0", "None"]
