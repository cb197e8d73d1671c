package org.apache.spark.sql.headrace

import org.apache.spark.sql.types._

/**
 * Of which columns Python makes the same of the row format as of Spark's own pickles. In these, maps have the order of a
 * `HashMap`.
 */
private[headrace] object RowTypes {
  // Of what is more, or deeper, no reader takes the schema.
  private val Depth = 64
  private val MostFields = 65536

  def carries(schema: StructType): Boolean =
    schema.nonEmpty && schema.forall(field => carries(field.dataType)) && fields(schema) <= MostFields

  private def fields(of: DataType): Int = of match {
    case ArrayType(item, _) => 1 + fields(item)
    case struct: StructType => struct.map(field => 1 + fields(field.dataType)).sum
    case _ => 0
  }

  def carries(of: DataType): Boolean = carries(of, Depth)

  private def carries(of: DataType, levels: Int): Boolean = levels > 0 && (of match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case DateType | TimestampType | TimestampNTZType | BinaryType | NullType => true
    case _: StringType | _: DecimalType | _: DayTimeIntervalType => true
    case ArrayType(item, _) => carries(item, levels - 1)
    case struct: StructType => struct.nonEmpty && struct.forall(field => carries(field.dataType, levels - 1))
    case _ => false
  })
}
