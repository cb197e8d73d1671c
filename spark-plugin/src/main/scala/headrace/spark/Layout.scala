package headrace.spark

import org.apache.spark.sql.types._

/** Which types the native part reads, as whose Arrow arrays the values of all of Spark's types lie. */
private[spark] object Layout {
  private val Plain = Seq(NullType, BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, StringType,
    BinaryType, DateType, TimestampType, TimestampNTZType, DayTimeIntervalType(), YearMonthIntervalType())

  /** Spark 3.5 has no such type, of which the values are two pieces of bytes. */
  private val Variant = "variant"

  /** The same columns as the native part is asked for them. */
  def of(schema: StructType): StructType =
    StructType(schema.map(field => StructField(field.name, of(field.dataType))))

  /** The name of a field, which is in a column of this name and type, and cannot be read; and of what type it is. */
  def foreign(name: String, kind: DataType): Option[(String, DataType)] = of(kind) match {
    case struct: StructType =>
      struct.flatMap(field => foreign(s"$name.${field.name}", field.dataType)).headOption
    case ArrayType(element, _) => foreign(s"$name.element", element)
    case MapType(key, value, _) => foreign(s"$name.key", key).orElse(foreign(s"$name.value", value))
    case plain if Plain.contains(plain) || plain.isInstanceOf[DecimalType] || plain.typeName == Variant => None
    case _ => Some(name -> kind)
  }

  private def of(kind: DataType): DataType = kind match {
    case own: UserDefinedType[_] => of(own.sqlType)
    case struct: StructType => of(struct)
    case ArrayType(element, _) => ArrayType(of(element))
    case MapType(key, value, _) => MapType(of(key), of(value))
    // Of any collation, or of a length.
    case _: StringType | _: CharType | _: VarcharType => StringType
    case _: DayTimeIntervalType => DayTimeIntervalType()
    case _: YearMonthIntervalType => YearMonthIntervalType()
    case plain => plain
  }
}
