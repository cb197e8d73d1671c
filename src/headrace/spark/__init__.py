"""Spark where one machine ends: sessions that read by Arrow. Needs PySpark 3.5 or 4.1, and `headrace-spark`."""

from headrace.spark.session import session

__all__ = ["session"]
