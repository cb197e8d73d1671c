package headrace.spark

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

import scala.util.Try

/** Filters of Spark in the JSON that `filter.rs` reads. */
private[spark] sealed abstract class Filters extends Serializable {
  import Filters._

  /** The column that a filter names; of a field of structs all names that lead to it. */
  protected def path(column: String): Seq[String]

  /** Whether the native part knows a filter. */
  def known(filter: Filter): Boolean = one(filter).isDefined

  /** The filters that the native part knows. Rows of which any of them is not true may be left out. */
  def json(filters: Seq[Filter]): ArrayNode = {
    val array = mapper.createArrayNode()
    filters.flatMap(one).foreach(node => array.add(node))
    array
  }

  private def one(filter: Filter): Option[ObjectNode] = filter match {
    case And(left, right) => both("and", left, right)
    case Or(left, right) => both("or", left, right)
    case Not(EqualTo(column, value)) => compared(column, "!=", value)
    case Not(filter) => one(filter).map(negated)
    case IsNull(column) => Some(isNull(column))
    case IsNotNull(column) => Some(negated(isNull(column)))
    case EqualTo(column, value) => compared(column, "=", value)
    case EqualNullSafe(column, null) => Some(isNull(column))
    case EqualNullSafe(column, value) => both("and", IsNotNull(column), EqualTo(column, value))
    case LessThan(column, value) => compared(column, "<", value)
    case LessThanOrEqual(column, value) => compared(column, "<=", value)
    case GreaterThan(column, value) => compared(column, ">", value)
    case GreaterThanOrEqual(column, value) => compared(column, ">=", value)
    case In(column, values) if values.forall(value => value == null || text(value).isDefined) =>
      val node = leaf("in", column)
      val array = node.putArray("values")
      values.foreach(value => array.add(text(value).orNull))
      Some(node)
    case StringStartsWith(column, value) => text(value).map(leaf("prefix", column).put("value", _))
    case _ => None
  }

  private def both(is: String, left: Filter, right: Filter) =
    for (first <- one(left); second <- one(right)) yield {
      val node = mapper.createObjectNode().put("is", is)
      node.putArray("filters").add(first).add(second)
      node
    }

  private def negated(filter: ObjectNode) = {
    val node = mapper.createObjectNode().put("is", "not")
    node.set[ObjectNode]("filter", filter)
    node
  }

  private def isNull(column: String) = leaf("null", column)

  private def compared(column: String, how: String, value: Any) =
    if (value != null && text(value).isEmpty) None
    else Some(leaf("compared", column).put("how", how).put("value", text(value).orNull))

  private def leaf(is: String, column: String) = {
    val node = mapper.createObjectNode().put("is", is)
    val names = node.putArray("column")
    path(column).foreach(name => names.add(name))
    node
  }
}

private[spark] object Filters {
  /** As Spark tells scans: fields stand behind dots, and what is no plain name in backticks. */
  case object Quoted extends Filters {
    // Spark's own parser takes no words that a session reserves.
    private val name = "`([^`]*+(?:``[^`]*+)*+)`|([^.`]+)".r

    override protected def path(column: String): Seq[String] =
      name.findAllMatchIn(column).toSeq
        .map(found => Option(found.group(1)).fold(found.group(2))(_.replace("``", "`")))
  }

  /** As it tells file formats, of columns alone: their names, whatever is in them. */
  case object Whole extends Filters {
    override protected def path(column: String): Seq[String] = Seq(column)
  }

  /** What bytes that are no UTF-8 become on the way here; the order of their text is lost. */
  val Unreadable: Char = '\uFFFD'

  private val mapper = new ObjectMapper

  /** A value as `value.rs` parses it: of times what Spark counts, of bytes the hexadecimal digits. */
  private def text(value: Any): Option[String] =
    Try(CatalystTypeConverters.convertToCatalyst(value)).toOption.collect {
      case text: UTF8String if !text.toString.contains(Unreadable) => text.toString
      case decimal: Decimal => decimal.toJavaBigDecimal.toPlainString
      case bytes: Array[Byte] => bytes.map(byte => f"$byte%02x").mkString
      case plain @ (_: Boolean | _: Byte | _: Short | _: Int | _: Long | _: Float | _: Double) => plain.toString
    }
}
