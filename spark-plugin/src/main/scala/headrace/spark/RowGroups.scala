package headrace.spark

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.vectorized.ColumnarBatch

/** How many row groups a scan read, in Spark's interface. */
class RowGroupsRead extends CustomSumMetric {
  override def name: String = "rowGroupsRead"
  override def description: String = "row groups read"
}

/** How many it did not, as what the files say of them is enough. */
class RowGroupsSkipped extends CustomSumMetric {
  override def name: String = "rowGroupsSkipped"
  override def description: String = "row groups skipped"
}

/** Row groups of what one task reads. */
private[spark] class RowGroups {
  private var read, skipped = 0L

  def add(reader: NativeReader): Unit = {
    read += reader.groups(false)
    skipped += reader.groups(true)
  }

  def metrics: Array[CustomTaskMetric] =
    Array(count(new RowGroupsRead, read), count(new RowGroupsSkipped, skipped))

  private def count(metric: CustomMetric, number: Long) = new CustomTaskMetric {
    override def name: String = metric.name
    override def value: Long = number
  }
}

/** A reader that tells Spark of all its files' row groups together. */
private[spark] class CountedReader(reader: PartitionReader[ColumnarBatch], groups: RowGroups)
    extends PartitionReader[ColumnarBatch] {
  override def next(): Boolean = reader.next()
  override def get(): ColumnarBatch = reader.get()
  override def close(): Unit = reader.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = groups.metrics
}
