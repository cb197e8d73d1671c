"""A training dataset that is stored, reads back the same after the tables have moved on, and can be recomputed."""

import pandas as pd

import headrace as hr

hours = pd.date_range("2013-01-01", periods=200, freq="h", tz="UTC")

with hr.connect("./lake", project="datasets") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert(pd.DataFrame({"observed_at": hours, "origin": "JFK", "temp": range(200)}))
    flights = fs.create_feature_group("flights", primary_key=["id"], event_time="sched_dep")
    flights.insert(
        pd.DataFrame(
            {
                "id": range(200),
                "sched_dep": hours,
                "origin": "JFK",
                "arr_delay": [float(i % 7) for i in range(200)],
            }
        )
    )
    query = flights.select("id", "arr_delay").join(weather.select("temp"), on="origin", max_age="2h")
    view = fs.create_feature_view("delays", query, labels=["arr_delay"])

    made: hr.TrainingDataset = view.create_training_dataset(
        splits={"train": 0.7, "validation": 0.15, "test": 0.15}, seed=7, description="the first try"
    )
    print(made.version, made.snapshots, made.rows)
    assert made.rows == {"train": 140, "validation": 30, "test": 30}

    # The tables move on, and what nobody needs any more goes; what the dataset was made of stays.
    weather.insert(pd.DataFrame({"observed_at": hours, "origin": "JFK", "temp": 0}))
    flights.delete(filter=flights["id"] < 100)
    for group in (weather, flights):
        group.compact()
        group.vacuum(retention_hours=0, dry_run=False)

    dataset = fs.get_feature_view("delays").get_training_dataset(1)
    stored = dataset.read("train").to_arrow()
    assert stored.equals(dataset.recompute("train").to_arrow())
    X, y = dataset.read("train").xy()
    print(X.describe(), y.mean())

    # By time, and as Arrow: on the same machine it is mapped into memory, and none of it is copied.
    by_time = view.create_training_dataset(
        splits={"train": (None, "2013-01-08"), "test": ("2013-01-08", None)}, format="arrow"
    )
    print(by_time.location, by_time.format, by_time.splits["test"], by_time.created)
    assert by_time.read("test", columns=["temp"]).schema.names == ["temp"]
    assert (by_time.features, by_time.labels) == (("id", "temp"), ("arr_delay",))

    # A view or a group that a dataset needs is not deleted by accident.
    try:
        fs.delete_feature_view("delays", 1)
    except hr.Conflict as error:
        print(error)
    view.delete_training_dataset(by_time.version)
    assert [d.description for d in view.list_training_datasets()] == ["the first try"]
    assert made.tags == {}
    print(made.schema)
