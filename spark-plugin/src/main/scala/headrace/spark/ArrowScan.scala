package headrace.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScan
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A read of some columns of a table; Spark plans the parts of files that its tasks read. */
case class ArrowScan(
    sparkSession: SparkSession,
    fileIndex: PartitioningAwareFileIndex,
    dataSchema: StructType,
    readDataSchema: StructType,
    readPartitionSchema: StructType,
    options: CaseInsensitiveStringMap,
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression],
    pushedFilters: Seq[Filter],
    limit: Option[Int],
    givenSchema: Boolean
) extends FileScan {

  private lazy val read = ReadOptions(sparkSession, options)

  override def isSplitable(path: Path): Boolean = read.format(path).splitable(path)

  override def createReaderFactory(): PartitionReaderFactory =
    new ArrowReaderFactory(
      Asked(dataSchema, readDataSchema, Filters.Quoted.json(pushedFilters).toString, limit, first), readPartitionSchema, read)

  private def first = if (givenSchema || read.mergeSchema) None else ArrowFiles.first(fileIndex.allFiles())

  /** Scans that are equal give the same rows, and Spark runs one of them only. What rows there are, hangs on options, too. */
  override def equals(other: Any): Boolean = other match {
    case scan: ArrowScan =>
      super.equals(scan) && limit == scan.limit && options == scan.options && dataSchema == scan.dataSchema
    case _ => false
  }

  override def hashCode(): Int = super.hashCode()

  override def supportedCustomMetrics(): Array[CustomMetric] = Array(new RowGroupsRead, new RowGroupsSkipped)

  override def getMetaData(): Map[String, String] = super.getMetaData() ++ told

  private def told =
    Map("PushedFilters" -> seqToString(pushedFilters)) ++ limit.map(rows => "PushedLimit" -> s"LIMIT $rows")
}
