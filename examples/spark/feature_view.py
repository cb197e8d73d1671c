"""A feature view on Spark: the rows that DuckDB gives, read, joined and written by Spark's executors."""

import headrace as hr
import headrace.spark

spark = headrace.spark.session(master="local[2]", config={"spark.ui.enabled": "false"}, delta=True)

with hr.connect("./lake", project="spark_view", spark=spark) as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="seen", ttl="2h")
    weather.insert(
        spark.range(2_000).selectExpr(
            "element_at(array('JFK', 'LGA'), CAST(id % 2 AS INT) + 1) AS origin",
            "timestamp_seconds(1700000000 + 1800 * (id div 2)) AS seen",
            "id / 10 AS temp",
        )
    )
    flights = fs.create_feature_group("flights", primary_key=["flight"], event_time="sched_dep")
    flights.insert(
        spark.range(5_000).selectExpr(
            "id AS flight",
            "timestamp_seconds(1700000000 + 331 * id) AS sched_dep",
            "element_at(array('JFK', 'LGA', 'EWR'), CAST(id % 3 AS INT) + 1) AS origin",
            "id % 40 AS delay",
        )
    )
    view = fs.create_feature_view(
        "delays", flights.select().join(weather, on="origin", prefix="wx_"), labels=["delay"]
    )
    print(view.explain(engine="spark"))

    train = view.training_data(engine="spark")
    frame = train.to_spark()  # lazy: nothing has been read yet
    frame.groupBy("origin").agg({"wx_temp": "avg", "delay": "avg"}).show()
    here = view.training_data(engine="duckdb").to_arrow()
    assert frame.where("wx_temp IS NOT NULL").count() == here.num_rows - here["wx_temp"].null_count

    stored = view.create_training_dataset(splits={"train": 0.8, "test": 0.2}, seed=7, engine="spark")
    print(stored, stored.snapshots)
    assert stored.read("test").to_arrow().equals(stored.recompute("test").to_arrow())

    # Rows to enrich may be Spark's own: they stay there.
    asked = spark.sql("SELECT 1L AS flight, timestamp_seconds(1700003600) AS sched_dep, 'JFK' AS origin")
    view.batch_data(spine=asked, engine="spark").to_spark().show()

spark.stop()
