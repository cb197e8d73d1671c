"""A data frame of Spark is inserted like any other: its workers make Arrow of the rows, and nothing is collected."""

import headrace as hr
import headrace.spark

spark = headrace.spark.session(master="local[2]", config={"spark.ui.enabled": "false"})
orders = spark.range(10_000).selectExpr(
    "id AS order_id", "timestamp_seconds(1700000000 + 60 * id) AS ordered_at", "id % 7 AS items"
)

with hr.connect("./lake", project="spark") as fs:
    group = fs.create_feature_group("orders", primary_key=["order_id"], event_time="ordered_at")
    print(group.insert(orders))
    print(group.insert(orders.where("items = 3").selectExpr("order_id", "ordered_at", "0L AS items")))
    assert group.read().to_arrow().num_rows == 10_000
    assert group.read(filter=group["items"] == 3).to_arrow().num_rows == 0

spark.stop()
