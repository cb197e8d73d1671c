package headrace.spark

import java.util

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `spark.read.format("headrace")`: a feature group or feature view of a service of Headrace, by Arrow Flight.
  *
  * It reads no files. But Spark writes the options of any other source into its catalog, where all can read them, without
  * a word to the source; for one of files it comes to [[HeadraceRefusals]] before.
  */
class HeadraceDataSource extends FileDataSourceV2 {
  /** Spark asks for the schema, and then for the table: both are of one state of the rows. */
  private var loaded: Option[HeadraceTable] = None

  override def shortName: String = HeadraceDataSource.Name

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[HeadraceRefusals]

  override def supportsExternalMetadata(): Boolean = false

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    loaded = Some(getTable(options))
    loaded.get.schema
  }

  override def getTable(schema: StructType, partitioning: Array[Transform], options: util.Map[String, String]): Table =
    loaded.getOrElse(getTable(new CaseInsensitiveStringMap(options)))

  override def getTable(options: CaseInsensitiveStringMap): HeadraceTable = HeadraceTable.load(HeadraceOptions(options))
}

object HeadraceDataSource {
  val Name = "headrace"
}
