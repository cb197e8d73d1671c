package headrace.spark

import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{
  Scan, SupportsPushDownLimit, SupportsPushDownRequiredColumns, SupportsPushDownV2Filters}
import org.apache.spark.sql.types.StructType

/** Takes what of a table the service can choose: columns, rows by what their columns are, and how many. */
class HeadraceScanBuilder(table: HeadraceTable)
    extends SupportsPushDownRequiredColumns with SupportsPushDownV2Filters with SupportsPushDownLimit {

  private var columns = table.schema
  private var filters = Seq.empty[(Predicate, Conditions.Condition)]
  private var limit: Option[Int] = None

  override def pruneColumns(required: StructType): Unit = columns = required

  /** All are left for Spark to check again. */
  override def pushPredicates(predicates: Array[Predicate]): Array[Predicate] = {
    val conditions = new Conditions(table.read.schema, table.read.exact)
    if (HeadraceScan.canBeFiltered(table)) {
      filters = predicates.toSeq.flatMap(predicate => conditions.of(predicate).map(predicate -> _))
    }
    predicates
  }

  override def pushedPredicates: Array[Predicate] = filters.map(_._1).toArray

  override def pushLimit(rows: Int): Boolean = {
    limit = Some(rows)
    true
  }

  override def build(): Scan = HeadraceScan(table, columns, filters.map(_._2), limit)
}
