package headrace.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownLimit}
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

class ArrowScanBuilder(
    session: SparkSession,
    fileIndex: PartitioningAwareFileIndex,
    dataSchema: StructType,
    options: CaseInsensitiveStringMap,
    givenSchema: Boolean
) extends FileScanBuilder(session, fileIndex, dataSchema)
    with SupportsPushDownLimit {

  private var limit: Option[Int] = None

  /** Those that the native part knows; Spark looks at the rows that are read by all of them again. */
  override def pushDataFilters(filters: Array[Filter]): Array[Filter] =
    filters.filter(filter => Filters.Quoted.known(filter) && filtering)

  private lazy val filtering =
    fileIndex.allFiles().exists(file => Format.filters(Option(options.get("format")), file.getPath))

  /** Each file is read no further; Spark takes no more than it needs of all of them. */
  override def pushLimit(rows: Int): Boolean = {
    limit = Some(rows)
    true
  }

  override def build(): Scan =
    ArrowScan(
      session, fileIndex, dataSchema, readDataSchema(), readPartitionSchema(), options, partitionFilters, dataFilters,
      pushedDataFilters.toSeq, limit, givenSchema)
}
