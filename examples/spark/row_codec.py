"""PySpark's rows by the row codec instead of pickle: nothing else in a program changes."""

from pyspark.sql import functions as F  # noqa: N812

import headrace.spark as hspark

spark = hspark.session(master="local[2]", config={"spark.ui.enabled": "false"})
context = spark.sparkContext
hspark.install(spark)

# What RDDs pass on: between stages, to Python and back.
fares = context.parallelize([(n % 3, float(n)) for n in range(10_000)], 2)
totals = fares.reduceByKey(lambda a, b: a + b).sortByKey().collect()
print(totals)
assert totals == [(rest, float(sum(range(rest, 10_000, 3)))) for rest in range(3)]

# Frames of lists, and rows of frames.
flights = spark.createDataFrame(
    [(n, ["JFK", "LGA"][n % 2], n / 4) for n in range(10_000)], ["id", "origin", "fare"]
)
assert flights.collect()[3] == (3, "LGA", 0.75)
assert flights.rdd.map(lambda flight: flight.fare).sum() == sum(range(10_000)) / 4

# Python functions in SQL.
tax = F.udf(lambda fare: fare * 1.25, "double")
taxed = flights.groupBy("origin").agg(F.sum(tax("fare")).alias("total"))
taxed.explain()  # RowEvalPython is the codec's, BatchEvalPython PySpark's own
taxed.show()

print(hspark.codec_stats())
assert hspark.codec_stats()["driver"]["rows_read"] >= 10_000

hspark.uninstall(spark)  # pickles again
assert flights.count() == 10_000
spark.stop()
