package headrace.spark

import java.util.Locale

import org.apache.spark.sql.types._

/** The schema of several files: every column of each, of types that hold the values of all.
  *
  * @param schema
  *   the columns so far
  * @param files
  *   by column, as it is named in the schema: a file that has it
  */
private[spark] case class MergedSchema(schema: StructType, files: Map[String, String], caseSensitive: Boolean) {
  /** With the columns of one file more.
    *
    * @throws IllegalArgumentException
    *   no type holds the values of a column in both files
    */
  def and(other: StructType, path: String): MergedSchema = other.foldLeft(this) { (merged, field) =>
    val place = merged.schema.indexWhere(known => same(known.name, field.name))
    if (place < 0) {
      merged.copy(schema = merged.schema.add(field), files = merged.files + (field.name -> path))
    } else {
      val known = merged.schema(place)
      val kind = wider(known, field, field.name).fold(
        told => throw new IllegalArgumentException(
          s"the columns of ${merged.files(known.name)} and $path cannot be merged: $told"),
        identity)
      merged.copy(schema = StructType(merged.schema.updated(place, known.copy(dataType = kind))))
    }
  }

  private def same(one: String, other: String) = if (caseSensitive) one == other else one.equalsIgnoreCase(other)

  /** The type of a column of two files, if the native part finds it in both. */
  private def wider(one: StructField, other: StructField, name: String): Either[String, DataType] =
    if (!caseSensitive && one.name.toLowerCase(Locale.ROOT) != other.name.toLowerCase(Locale.ROOT))
      Left(s"'${one.name}' and '${other.name}' are one name in capitals, and two in small letters: with "
        + "spark.sql.caseSensitive set to true they are two columns")
    else wider(one.dataType, other.dataType, name)

  /** The narrowest type that holds the values of both, of those that the native part reads each as. */
  private def wider(one: DataType, other: DataType, name: String): Either[String, DataType] = (one, other) match {
    case _ if one == other => Right(one)
    case (NullType, kind) => Right(kind)
    case (kind, NullType) => Right(kind)
    case (StructType(fields), StructType(others)) =>
      others.foldLeft[Either[String, Vector[StructField]]](Right(fields.toVector)) { (merged, field) =>
        merged.flatMap { known =>
          known.indexWhere(of => same(of.name, field.name)) match {
            case -1 => Right(known :+ field)
            case place =>
              wider(known(place), field, s"$name.${field.name}")
                .map(kind => known.updated(place, known(place).copy(dataType = kind)))
          }
        }
      }.map(StructType(_))
    case (ArrayType(item, _), ArrayType(others, _)) =>
      wider(item, others, s"$name.element").map(ArrayType(_, containsNull = true))
    case (MapType(key, value, _), MapType(otherKey, otherValue, _)) =>
      for (keys <- wider(key, otherKey, s"$name.key"); values <- wider(value, otherValue, s"$name.value"))
        yield MapType(keys, values, valueContainsNull = true)
    case (known: DecimalType, more: DecimalType) =>
      val digits = math.max(known.precision - known.scale, more.precision - more.scale)
      val fraction = math.max(known.scale, more.scale)
      if (digits + fraction <= DecimalType.MAX_PRECISION) Right(DecimalType(digits + fraction, fraction))
      else Left(unlike(one, other, name))
    case (DayTimeIntervalType(first, last), DayTimeIntervalType(otherFirst, otherLast)) =>
      Right(DayTimeIntervalType(math.min(first, otherFirst).toByte, math.max(last, otherLast).toByte))
    case (YearMonthIntervalType(first, last), YearMonthIntervalType(otherFirst, otherLast)) =>
      Right(YearMonthIntervalType(math.min(first, otherFirst).toByte, math.max(last, otherLast).toByte))
    case _ =>
      val orders = Seq(Seq(ByteType, ShortType, IntegerType, LongType), Seq(ByteType, ShortType, IntegerType, DoubleType),
        Seq(FloatType, DoubleType))
      orders.find(order => order.contains(one) && order.contains(other))
        .map(order => order(math.max(order.indexOf(one), order.indexOf(other))))
        .toRight(unlike(one, other, name))
  }

  private def unlike(one: DataType, other: DataType, name: String) =
    s"'$name' is of the type ${one.sql} in the one, and ${other.sql} in the other"
}
