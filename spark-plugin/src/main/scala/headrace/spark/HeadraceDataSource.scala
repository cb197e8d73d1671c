package headrace.spark

import java.util

import org.apache.spark.sql.{DataFrame, SaveMode, SQLContext}
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, DataSourceRegister}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `spark.read.format("headrace")`: a feature group or feature view of a service of Headrace, by Arrow Flight. */
class HeadraceDataSource extends TableProvider with DataSourceRegister with CreatableRelationProvider {
  /** Spark asks for the schema, and then for the table: both are of one state of the rows. */
  private var loaded: Option[HeadraceTable] = None

  override def shortName: String = "headrace"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    loaded = Some(HeadraceTable.load(HeadraceOptions(options)))
    loaded.get.schema
  }

  override def getTable(schema: StructType, partitioning: Array[Transform], options: util.Map[String, String]): Table =
    loaded.getOrElse(HeadraceTable.load(HeadraceOptions(new CaseInsensitiveStringMap(options))))

  /** Where Spark comes to, to write, with a source that has no other way of doing so. */
  override def createRelation(
      context: SQLContext, mode: SaveMode, options: Map[String, String], rows: DataFrame): BaseRelation =
    throw new UnsupportedOperationException(
      "the source 'headrace' reads feature groups, and writes none: give the frame to insert() of the feature group in Python")
}
