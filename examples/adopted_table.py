"""A Delta table that others wrote, as a feature group: read and written where it is."""

from pathlib import Path

import deltalake
import pandas as pd

import headrace as hr

hours = pd.date_range("2013-01-01", periods=10, freq="h", tz="UTC")
theirs = Path("warehouse/weather").absolute()
deltalake.write_deltalake(
    str(theirs),
    pd.DataFrame({"observed_at": hours.astype("datetime64[us, UTC]"), "origin": "JFK", "temp": 1.0}),
)

with hr.connect("./lake", project="adopted") as fs:
    weather = fs.register_feature_group(
        "weather", str(theirs), format="delta", primary_key=["origin"], event_time="observed_at"
    )
    print(weather.location, weather.schema)
    assert weather.read().to_arrow().num_rows == 10

    weather.insert([{"origin": "JFK", "observed_at": hours[0].to_pydatetime(), "temp": 2.0}])
    assert deltalake.DeltaTable(str(theirs)).to_pandas()["temp"].sum() == 11

    # The group goes; the table stays.
    fs.delete_feature_group("weather", 1)
    assert deltalake.DeltaTable(str(theirs)).version() == 1
