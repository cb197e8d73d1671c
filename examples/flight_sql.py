"""Ask a service in SQL by ADBC's driver for Flight SQL: groups, views, older snapshots, parameters, appending."""

import datetime as dt
import json
import subprocess
import sys

import polars as pl
import pyarrow as pa
from adbc_driver_flightsql import dbapi

import headrace as hr

service = subprocess.Popen(
    [sys.executable, "-m", "headrace", "serve", "--root", "lake", "--listen", "grpc://127.0.0.1:0", "--json"],
    stdout=subprocess.PIPE,
)
assert service.stdout is not None
url = json.loads(service.stdout.readline())["listening"][0]

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
with hr.connect(url, project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="seen")
    weather.insert(
        [{"origin": "JFK", "seen": NOON, "temp": 3.5}, {"origin": "EWR", "seen": NOON, "temp": -1.0}]
    )
    flights = fs.create_feature_group("flights", primary_key=["id"], event_time="dep")
    flights.insert([{"id": 1, "dep": NOON + dt.timedelta(hours=1), "origin": "JFK", "delay": 11.0}])
    query = flights.select("id", "delay").join(weather, on="origin", prefix="wx_")
    fs.create_feature_view("delays", query, labels=["delay"])

with dbapi.connect(url, autocommit=True) as conn, conn.cursor() as cur:
    cur.execute("SELECT origin, temp FROM flights.weather WHERE temp > ? ORDER BY origin", (0,))
    print(cur.fetch_arrow_table())

    later = pa.table({"origin": ["JFK"], "seen": [NOON + dt.timedelta(hours=2)], "temp": [9.0]})
    print(cur.adbc_ingest("weather", later, mode="append", db_schema_name="flights"), "row appended")
    cur.execute('SELECT count(*) FROM flights."weather@v1"')
    print("now", cur.fetchone())
    cur.execute('SELECT count(*) FROM flights."weather@v1" AT (VERSION => 0)')
    print("before", cur.fetchone())

    # A view's rows are those of its training data: each as it was known at its own time.
    print(pl.read_database("SELECT * FROM flights.delays LIMIT 10", conn))
    for catalog in conn.adbc_get_objects(depth="tables").read_all().to_pylist():
        for schema in catalog["catalog_db_schemas"]:
            for table in schema["db_schema_tables"]:
                print(schema["db_schema_name"], table["table_name"], table["table_type"])

service.terminate()
service.wait()
