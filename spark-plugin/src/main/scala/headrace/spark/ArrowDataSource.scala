package headrace.spark

import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `spark.read.format("arrow")`: files, decoded to Arrow by the native part, and read by Spark where they lie.
  *
  * Listing, globs, hive partitions and splits are those of Spark's own file sources. Source: "Zero-Cost, Arrow-Enabled
  * Data Interface for Apache Spark".
  */
class ArrowDataSource extends FileDataSourceV2 {
  override def shortName: String = ArrowDataSource.Name

  /** As Spark's errors call it. */
  override def toString: String = "Arrow"

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[ArrowFileFormat]

  override def getTable(options: CaseInsensitiveStringMap): ArrowTable = table(options, None)

  override def getTable(options: CaseInsensitiveStringMap, schema: StructType): ArrowTable = table(options, Some(schema))

  private def table(options: CaseInsensitiveStringMap, schema: Option[StructType]) = {
    val paths = getPaths(options)
    new ArrowTable(getTableName(options, paths), sparkSession, getOptionsWithoutPaths(options), paths, schema)
  }
}

object ArrowDataSource {
  val Name = "arrow"
}
