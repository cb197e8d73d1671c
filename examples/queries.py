"""Queries: select, filter, join, limit; immutable, checked as they are built, explained before they are run."""

import datetime as dt

import headrace as hr


def at(clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2013-01-01T{clock}+00:00")


with hr.connect("./lake", project="flights") as fs:
    flights = fs.create_feature_group("flights", primary_key=["flight_id"], event_time="sched_dep")
    flights.insert(
        [
            {"flight_id": 1, "sched_dep": at("11:15"), "origin": "JFK", "tailnum": "N1", "arr_delay": 11.0},
            {"flight_id": 2, "sched_dep": at("12:30"), "origin": "LGA", "tailnum": "N2", "arr_delay": -4.0},
        ]
    )
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert(
        [
            {"origin": "JFK", "observed_at": at("10:51"), "temp": 3.9, "wind": 8.0},
            {"origin": "LGA", "observed_at": at("11:51"), "temp": 4.4, "wind": 25.0},
        ]
    )
    planes = fs.create_feature_group("planes", primary_key=["tailnum"])  # no event time: a plain join
    planes.insert([{"tailnum": "N1", "seats": 149}])

    query = (
        flights.select("flight_id", "arr_delay")  # the rows of the result
        .join(weather.select("temp"), on="origin", prefix="wx_")
        .join(planes, on="tailnum")
    )
    assert query.schema.names == ["flight_id", "arr_delay", "wx_temp", "seats"]
    by_id = {row["flight_id"]: row for row in query.read().to_arrow().to_pylist()}
    assert by_id[1] == {"flight_id": 1, "arr_delay": 11.0, "wx_temp": 3.9, "seats": 149}
    assert by_id[2] == {"flight_id": 2, "arr_delay": -4.0, "wx_temp": 4.4, "seats": None}
    print(query.explain())

    # A filter before the join chooses what may match; after it, which rows come out.
    calm = flights.select("flight_id").join(weather.filter(weather["wind"] < 20).select("temp"), on="origin")
    assert sorted(calm.read().to_arrow()["temp"].to_pylist(), key=str) == [3.9, None]
    assert query.filter(query["wx_temp"] > 4).read().to_arrow()["flight_id"].to_pylist() == [2]
    assert query.limit(1).read().to_arrow().num_rows == 1

    # how="inner" drops rows without a match; on={left: right} joins columns of other names.
    inner = flights.select("flight_id").join(planes, on={"tailnum": "tailnum"}, how="inner")
    assert inner.read().to_arrow()["flight_id"].to_pylist() == [1]

    # Mistakes are found while the query is built.
    for build, expected in (
        (lambda: flights.select("arr_dealy"), hr.UnknownColumn),
        (lambda: flights.join(weather.select("temp", "wind").select("origin"), on="origin"), hr.NameClash),
        (lambda: flights.join(planes, on="flight_id"), hr.KeyMismatch),
    ):
        try:
            build()
        except expected as error:
            print(error)
        else:
            raise AssertionError(f"{expected.__name__} expected")
