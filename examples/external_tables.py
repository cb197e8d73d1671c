"""A table that stays in another database, joined with a feature group: here in SQLite, in PostgreSQL alike."""

import sqlite3
from pathlib import Path

import headrace as hr

path = Path("planes.db").absolute()
with sqlite3.connect(path) as database:
    database.execute("CREATE TABLE planes (tailnum TEXT PRIMARY KEY, model TEXT, seats INTEGER)")
    database.execute("INSERT INTO planes VALUES ('N14228', '737-824', 149), ('N24211', '737-824', 150)")

with hr.connect("./lake", project="flights") as fs:
    # In PostgreSQL: driver="postgresql", uri="env:PLANES_PG", table="public.planes". The variable holds the URI, with
    # its password, where the query runs; the store keeps its name alone.
    planes = fs.create_external_feature_group(
        "planes", driver="sqlite", uri=f"file:{path}", table="planes", primary_key=["tailnum"]
    )
    flights = fs.create_feature_group("flights", primary_key=["flight_id"])
    flights.insert([{"flight_id": 1, "tailnum": "N14228"}, {"flight_id": 2, "tailnum": "N668DN"}])

    query = flights.select("flight_id", "tailnum").join(planes.select("model", "seats"), on="tailnum")
    print(query.read().to_pandas())
    print(
        planes.read(["model"], filter=planes["seats"] > 149).explain()
    )  # with what the database is asked for
