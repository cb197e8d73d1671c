"""What Spark starts Python's workers from, where they take rows: `spark.python.daemon.module`."""

from pyspark.daemon import manager

from headrace.spark.worker import install

if __name__ == "__main__":
    install()
    manager()
