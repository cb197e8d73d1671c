"""Folders of CSV and Parquet files that others write, as feature groups: read where they are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

fares = Path("fares").absolute()
for day, rows in (("2013-01-01", "00501,12.5\n10001,8\n"), ("2013-01-02", "00501,9\n")):
    (fares / f"day={day}").mkdir(parents=True)
    (fares / f"day={day}" / "fares.csv").write_text(f"zip,fare\n{rows}")
pq.write_table(pa.table({"zip": ["00501", "10001"], "city": ["Holtsville", "New York"]}), "cities.parquet")

with hr.connect("./lake", project="fares") as fs:
    # Without a schema the zip codes would be numbers, and lose their zeros.
    rides = fs.register_feature_group(
        "rides", str(fares), format="csv", primary_key=["zip", "day"], schema=pa.schema({"zip": pa.string()})
    )
    cities = fs.register_feature_group(
        "cities", str(Path("cities.parquet").absolute()), format="parquet", primary_key=["zip"]
    )
    query = rides.select("zip", "day", "fare").join(cities.select("city"), on="zip")
    print(query.read().to_pandas().sort_values(["day", "zip"]))
    print(rides.read(filter=rides["day"] == "2013-01-02").explain())  # the file of the other day is not read
