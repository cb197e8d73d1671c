package headrace.spark

import java.util

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `spark.read.format("headrace")`: a feature group or feature view of a service of Headrace, by Arrow Flight. */
class HeadraceDataSource extends TableProvider with DataSourceRegister {
  /** Spark asks for the schema, and then for the table: both are of one state of the rows. */
  private var loaded: Option[HeadraceTable] = None

  override def shortName: String = "headrace"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    loaded = Some(HeadraceTable.load(HeadraceOptions(options)))
    loaded.get.schema
  }

  override def getTable(schema: StructType, partitioning: Array[Transform], options: util.Map[String, String]): Table =
    loaded.getOrElse(HeadraceTable.load(HeadraceOptions(new CaseInsensitiveStringMap(options))))
}
