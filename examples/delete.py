"""Deleting rows: by key, by key and event time, by condition. The group itself stays."""

import datetime as dt

import headrace as hr

days = [dt.datetime(2013, 1, day, tzinfo=dt.UTC) for day in range(1, 11)]

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="day")
    rows = [{"origin": o, "day": d, "temp": float(d.day)} for o in ("EWR", "JFK", "LGA") for d in days]
    written = weather.insert(rows)

    assert weather.delete(keys=[{"origin": "EWR"}]).rows_deleted == 10
    assert weather.delete(keys=[{"origin": "JFK", "day": days[0]}]).rows_deleted == 1
    assert weather.delete(filter=weather["temp"] > 8).rows_deleted == 4
    assert weather.read().to_arrow().num_rows == 15

    # They are gone from every read but those of older snapshots.
    assert weather.read(snapshot=written.snapshot).to_arrow().num_rows == 30
