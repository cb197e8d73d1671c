"""What bad input gets: one typed error that names every problem, and a table as it was."""

import datetime as dt

import headrace as hr

now = dt.datetime(2013, 1, 1, 11, tzinfo=dt.UTC)

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    commit = weather.insert([{"origin": "JFK", "observed_at": now, "temp": 3.9}])

    refused = [
        (hr.NullKeys, [{"origin": None, "observed_at": now, "temp": 3.1}]),
        (hr.DuplicateKeys, [{"origin": "JFK", "observed_at": now, "temp": t} for t in (3.1, 3.2)]),
        (hr.SchemaMismatch, [{"origin": "JFK", "observed_at": now, "temp": "cold"}]),
        (hr.SchemaMismatch, [{"origin": "JFK", "observed_at": now, "temp": 3.1, "colour": "grey"}]),
    ]
    for expected, rows in refused:
        try:
            weather.insert(rows)
        except expected as error:  # hr.BadData catches them all
            print(f"{error.code}: {error.message}")
            for problem in error.details["problems"]:
                print("   ", problem)
        else:
            raise AssertionError(f"{expected.__name__} expected")

    assert weather.history(1)[0].snapshot == commit.snapshot  # nothing was written

    # Every error is a HeadraceError: a stable code, a message, and what to do about it.
    caught: hr.HeadraceError | None = None
    try:
        weather.read(["temperature"])
    except hr.UnknownColumn as error:
        caught = error
    assert caught is not None
    assert caught.code == "UNKNOWN_COLUMN"
    assert "observed_at, temp" in str(caught.hint)
    assert not caught.retryable
