package org.apache.spark.sql.headrace

import headrace.spark.rows.RowSink
import org.apache.spark.sql.types._

/**
 * Of which columns Python makes the same of the row format as of Spark's own pickles. In these, maps have the order of a
 * `HashMap`.
 */
private[headrace] object RowTypes {
  def carries(schema: StructType): Boolean =
    schema.nonEmpty && schema.forall(field => isCarried(field.dataType)) && RowSink.takes(schema)

  def carries(of: DataType): Boolean = carries(new StructType().add("_1", of))

  private def isCarried(of: DataType): Boolean = of match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case DateType | TimestampType | TimestampNTZType | BinaryType | NullType => true
    case _: StringType | _: DecimalType | _: DayTimeIntervalType => true
    case ArrayType(item, _) => isCarried(item)
    case struct: StructType => struct.nonEmpty && struct.forall(field => isCarried(field.dataType))
    case _ => false
  }
}
