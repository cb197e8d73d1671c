package headrace.spark.rows

/** What Spark has within a `Row`: `Seq` and `Map` of Scala. */
object ScalaNested extends Nested {
  override def list(values: Array[AnyRef]): AnyRef = values.toSeq

  override def uuid(value: java.util.UUID): AnyRef = value.toString

  override def tuple(values: Array[AnyRef]): AnyRef = values.toSeq

  override def map(keys: Array[AnyRef], values: Array[AnyRef]): AnyRef = keys.zip(values).toMap

  /** The values of a `Seq`; null if it is none. */
  def values(value: Any): Array[AnyRef] = value match {
    case values: scala.collection.Seq[_] => values.map(_.asInstanceOf[AnyRef]).toArray
    case _ => null
  }

  /** Keys and values by turns of a `Map`; null if it is none. */
  def entries(value: Any): Array[AnyRef] = value match {
    case map: scala.collection.Map[_, _] =>
      map.iterator.flatMap { case (key, item) => Iterator(key.asInstanceOf[AnyRef], item.asInstanceOf[AnyRef]) }.toArray
    case _ => null
  }
}
