"""Reading a group: columns, filters, the newest row of each key; results as pandas, polars, Arrow, streams."""

import datetime as dt

import polars as pl
import pyarrow as pa

import headrace as hr


def at(hour: int) -> dt.datetime:
    return dt.datetime(2013, 1, 1, hour, 51, tzinfo=dt.UTC)


rows = [
    {"origin": "JFK", "observed_at": at(10), "temp": 3.9, "sky": "clear"},
    {"origin": "JFK", "observed_at": at(11), "temp": -1.0, "sky": None},
    {"origin": "LGA", "observed_at": at(10), "temp": 4.4, "sky": "cloudy"},
    {"origin": "EWR", "observed_at": at(12), "temp": -2.5, "sky": "clouds breaking"},
]
broken = pl.DataFrame([{"origin": "BOS", "observed_at": at(12), "temp": float("nan"), "sky": "?"}])

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")
    weather.insert(rows)

    def temps(condition: hr.Column) -> list[float]:
        return sorted(weather.read(["temp"], filter=condition).to_arrow()["temp"].to_pylist())

    # Columns build conditions: weather["temp"], or weather.temp where no method has that name.
    assert temps(weather["temp"] < 0) == [-2.5, -1.0]
    assert temps((weather.origin == "JFK") & (weather.temp >= 0)) == [3.9]
    assert temps((weather["origin"] != "JFK") | (weather["temp"] > 3)) == [-2.5, 3.9, 4.4]
    assert temps(weather["observed_at"] <= "2013-01-01T10:51Z") == [3.9, 4.4]
    assert temps(weather["origin"].isin(["LGA", "EWR"])) == [-2.5, 4.4]
    assert temps(weather["sky"].like("cloud%")) == [-2.5, 4.4]
    assert temps(weather["sky"].is_null()) == [-1.0]
    assert temps(~(weather["sky"] == "clear") & weather["sky"].is_not_null()) == [-2.5, 4.4]

    # NaN, as null, compares with nothing. (pandas has one word for both: its NaN comes in as null.)
    weather.insert(broken)
    assert len(temps((weather["temp"] > 0) | ~(weather["temp"] > 0))) == 4
    assert len(temps(weather["temp"].is_nan())) == 1
    weather.delete(filter=weather["temp"].is_nan())

    newest = weather.read(["origin", "temp"], latest=True).to_polars()
    assert dict(newest.sort("origin").rows()) == {"EWR": -2.5, "JFK": -1.0, "LGA": 4.4}

    # A result is lazy. It knows its columns and snapshots before it is run, and each call runs it again.
    result: hr.Result = weather.read()
    assert result.schema.names == ["origin", "observed_at", "temp", "sky"]
    assert list(result.snapshots) == ["weather@v1"]
    weather.insert([{**rows[0], "observed_at": at(15)}])
    assert result.to_arrow().num_rows == 4  # still the snapshot of its making
    print(result.explain())

    assert isinstance(result.to_arrow(), pa.Table)
    assert isinstance(result.to_polars(), pl.DataFrame)
    assert str(result.to_pandas().dtypes["temp"]) == "double[pyarrow]"
    assert str(result.to_pandas(dtype_backend="numpy").dtypes["temp"]) == "float64"
    assert str(result.to_pandas(dtype_backend="numpy_nullable").dtypes["temp"]) == "Float64"
    assert len(result.to_df()) == 4  # Feast's name for to_pandas
    assert result.head(2).to_arrow().num_rows == weather.read(limit=2).to_arrow().num_rows == 2
    assert [batch.num_rows for batch in result.to_reader(batch_size=3)] in ([3, 1], [1, 3], [2, 2])
    assert pl.DataFrame(result).height == 4  # a result is itself a stream of Arrow data
