"""Spark reads feature groups and views of a service, by Arrow Flight: its tasks fetch the rows at once."""

import datetime as dt
import json
import subprocess
import sys

import headrace as hr
import headrace.spark

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="seen")
    hours = [dt.datetime(2013, 1, 1, hour, tzinfo=dt.UTC) for hour in range(24)]
    first = weather.insert([{"origin": "JFK", "seen": at, "temp": i / 2} for i, at in enumerate(hours)])
    flights = fs.create_feature_group("flights", primary_key=["id"], event_time="sched_dep")
    leaves = hours[10] + dt.timedelta(minutes=15)
    flights.insert([{"id": 1, "sched_dep": leaves, "origin": "JFK", "arr_delay": 11.0}])
    query = flights.select("id", "arr_delay").join(weather, on="origin", prefix="wx_")
    fs.create_feature_view("delays", query, labels=["arr_delay"])
    weather.insert([{"origin": "LGA", "seen": hours[0], "temp": -1.0}])

command = [sys.executable, "-m", "headrace", "serve", "--root", "./lake", "--json"]
service = subprocess.Popen([*command, "--listen", "grpc://127.0.0.1:0"], stdout=subprocess.PIPE)
try:
    assert service.stdout is not None
    (target,) = json.loads(service.stdout.readline())["listening"]
    spark = headrace.spark.session(master="local[2]", config={"spark.ui.enabled": "false"})
    source = spark.read.format("headrace").option("target", target).option("project", "flights")

    # Only these columns and rows are sent.
    cold = source.option("group", "weather@v1").load().where("temp < 1").select("origin", "temp")
    cold.show()
    assert sorted(map(tuple, cold.collect())) == [("JFK", 0.0), ("JFK", 0.5), ("LGA", -1.0)]

    # As it was: Spark's readers keep their options, so this is one of its own.
    older = spark.read.format("headrace").option("target", target).option("project", "flights")
    assert older.option("group", "weather").option("snapshot", first.snapshot).load().count() == 24

    # Each row of a view sees only what was known at its time.
    view = spark.read.format("headrace").option("target", target).option("project", "flights")
    (row,) = view.option("view", "delays").load().collect()
    print(row)
    assert (row["id"], row["wx_temp"], row["arr_delay"]) == (1, 5.0, 11.0)
    spark.stop()
finally:
    service.terminate()
    service.wait()
