"""Training data in parts: by time, or drawn by a seed. The parts are of the same snapshots."""

import pandas as pd

import headrace as hr

hours = pd.date_range("2013-01-01", periods=100, freq="h", tz="UTC")

with hr.connect("./lake", project="splits") as fs:
    flights = fs.create_feature_group("flights", primary_key=["id"], event_time="sched_dep")
    flights.insert(
        pd.DataFrame(
            {
                "id": range(100),
                "sched_dep": hours,
                "carrier": ["UA", "UA", "B6", "UA", "UA"] * 20,
                "arr_delay": [float(i % 7) for i in range(100)],
            }
        )
    )
    view = fs.create_feature_view(
        "delays", flights.select("id", "carrier", "arr_delay"), labels=["arr_delay"]
    )

    # The future tests the past.
    train, test = view.train_test_split(test_start=hours[80])
    assert (train.to_arrow().num_rows, test.to_arrow().num_rows) == (80, 20)

    # Drawn: the same seed gives the same rows, also after the table has moved on.
    train, validation, test = view.train_validation_test_split(
        validation_size=0.1, test_size=0.2, seed=7, stratify="carrier"
    )
    before = sorted(test.to_arrow()["id"].to_pylist())
    flights.delete(filter=flights["id"] < 50)
    assert sorted(test.to_arrow()["id"].to_pylist()) == before
    print(test.explain())

    X, y = train.xy()
    print(X["carrier"].value_counts())
    assert len(X) == len(y) == 70
