package headrace.spark

import java.time.{Instant, LocalDate, ZoneOffset}
import java.time.format.DateTimeFormatter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types._

/** Spark's predicates in the words of the service: `Condition` of its protocol.
  *
  * They say the same of every row, null and NaN included, so that they can stand under a `Not`: for Spark NaN is equal to
  * itself and above all numbers, for the service it compares with nothing.
  *
  * @param exact
  *   columns whose values are the same on both sides; nothing is said of others, but whether they are null
  */
class Conditions(schema: StructType, exact: Set[String]) {
  import Conditions._

  private val columns = schema.map(field => field.name -> field.dataType).toMap

  /** None where the service has no words for it. */
  def of(predicate: Predicate): Option[Condition] =
    condition(predicate).map(new Condition(_, predicate.describe))

  private def condition(expression: Expression): Option[ObjectNode] = expression match {
    case predicate: Predicate =>
      (predicate.name, predicate.children.toSeq) match {
        case ("AND", operands) => all(operands).map(many("and", _))
        case ("OR", operands) => all(operands).map(many("or", _))
        case ("NOT", Seq(operand)) => condition(operand).map(not)
        case ("IS_NULL", Seq(Column(name))) if columns.contains(name) => Some(about("null", name))
        case ("IS_NOT_NULL", Seq(Column(name))) if columns.contains(name) => Some(not(about("null", name)))
        case ("STARTS_WITH", Seq(Column(name), prefix: Literal[_])) => startsWith(name, prefix)
        case ("IN", Column(name) +: values) => in(name, values)
        case ("<=>", Seq(Column(name), literal: Literal[_])) =>
          compare("=", name, literal).map(same => many("and", Seq(not(about("null", name)), same)))
        case (op, Seq(Column(name), literal: Literal[_])) if Flipped.contains(op) => compare(op, name, literal)
        case (op, Seq(literal: Literal[_], Column(name))) if Flipped.contains(op) =>
          compare(Flipped(op), name, literal)
        case _ => None
      }
    case _ => None
  }

  private def all(operands: Seq[Expression]) = {
    val found = operands.map(condition)
    if (found.forall(_.isDefined)) Some(found.flatten) else None
  }

  private def compare(op: String, name: String, literal: Literal[_]): Option[ObjectNode] =
    if (isNaN(literal)) {
      if (op == "=" && known(name).exists(isFloat)) Some(about("nan", name)) else None
    } else {
      value(name, literal).map { right =>
        val said = comparison(op, name, right)
        if (!isFloat(columns(name))) said
        else if (AboveNumbers.contains(op)) many("or", Seq(said, about("nan", name)))
        else numbersOnly(name, said)
      }
    }

  private def in(name: String, values: Seq[Expression]): Option[ObjectNode] = {
    val found = values.map {
      case literal: Literal[_] if !isNaN(literal) => value(name, literal)
      case _ => None
    }
    if (values.isEmpty || values.length > MostValues || found.exists(_.isEmpty)) None
    else {
      val node = about("in", name)
      val list = node.putArray("values")
      found.flatten.foreach(list.add)
      Some(if (isFloat(columns(name))) numbersOnly(name, node) else node)
    }
  }

  /** False of NaN, where the service takes what it compares with nothing to be true under a `Not`. */
  private def numbersOnly(name: String, said: ObjectNode) = many("and", Seq(said, not(about("nan", name))))

  /** What begins with it lies from it on, up to the next text that does not. */
  private def startsWith(name: String, prefix: Literal[_]): Option[ObjectNode] =
    for {
      from <- value(name, prefix)
      until <- following(from.get("text").asText)
    } yield many("and", Seq(comparison(">=", name, from), comparison("<", name, plain("str", until))))

  private def known(name: String) = columns.get(name).filter(_ => exact.contains(name))

  /** None of a null, and of what is of another type than the column. */
  private def value(name: String, literal: Literal[_]): Option[ObjectNode] =
    if (literal.value == null) None
    else {
      val text = literal.value.toString
      (known(name), literal.dataType) match {
        case (Some(BooleanType), BooleanType) => Some(plain("bool", text))
        case (Some(type1), type2) if type1 == type2 && Integers.contains(type1) => Some(plain("int", text))
        case (Some(FloatType), FloatType) => Some(float(literal.value.asInstanceOf[Float].toDouble))
        case (Some(DoubleType), DoubleType) => Some(float(literal.value.asInstanceOf[Double]))
        case (Some(_: DecimalType), _: DecimalType) =>
          Some(plain("decimal", literal.value.asInstanceOf[Decimal].toJavaBigDecimal.toPlainString))
        case (Some(StringType), StringType) if !text.exists(Unsaid.contains(_)) => Some(plain("str", text))
        case (Some(BinaryType), BinaryType) =>
          Some(plain("bytes", literal.value.asInstanceOf[Array[Byte]].map(byte => f"$byte%02x").mkString))
        case (Some(DateType), DateType) =>
          val day = LocalDate.ofEpochDay(literal.value.asInstanceOf[Int].toLong)
          if (Years.contains(day.getYear)) Some(plain("date", day.toString)) else None
        case (Some(TimestampType), TimestampType) =>
          val micros = literal.value.asInstanceOf[Long]
          val second = Instant.ofEpochSecond(Math.floorDiv(micros, 1000000L), Math.floorMod(micros, 1000000L) * 1000)
          val time = second.atOffset(ZoneOffset.UTC)
          if (Years.contains(time.getYear)) Some(plain("timestamp", Time.format(time))) else None
        case _ => None
      }
    }
}

object Conditions {
  /** One, as the service reads it, and as people do. Equal if it says the same. */
  class Condition(val node: ObjectNode, val text: String) {
    override def equals(other: Any): Boolean = other match {
      case that: Condition => node == that.node
      case _ => false
    }

    override def hashCode: Int = node.hashCode

    override def toString: String = text
  }

  private val Flipped = Map("=" -> "=", "<>" -> "<>", "<" -> ">", "<=" -> ">=", ">" -> "<", ">=" -> "<=")
  /** Comparisons that hold of NaN. */
  private val AboveNumbers = Seq(">", ">=", "<>")
  private val Integers = Seq(ByteType, ShortType, IntegerType, LongType)
  /** Those of the service's calendar, with a year to spare at either end for its zones. */
  private val Years = 2 to 9998
  private val Time = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSxxx")
  /** In texts: the service has no use for the one, and the other may stand for bytes that are no text. */
  private val Unsaid = Seq('\u0000', Filters.Unreadable)
  /** Tickets carry them. */
  private val MostValues = 1000

  private object Column {
    def unapply(expression: Expression): Option[String] = expression match {
      case reference: NamedReference if reference.fieldNames.length == 1 => Some(reference.fieldNames.head)
      case _ => None
    }
  }

  private def isFloat(kind: DataType) = kind == FloatType || kind == DoubleType

  private def isNaN(literal: Literal[_]) = literal.value match {
    case number: Double => number.isNaN
    case number: Float => number.isNaN
    case _ => false
  }

  private def node(kind: String) = HeadraceService.mapper.createObjectNode().put("node", kind)

  private def column(name: String) = node("column").put("name", name)

  private def plain(kind: String, text: String) = node("value").put("type", kind).put("text", text)

  private def float(number: Double) =
    plain("float", number.toString.toLowerCase.replace("infinity", "inf"))

  private def about(kind: String, name: String): ObjectNode = {
    val said = node(kind)
    said.set[ObjectNode]("column", column(name))
    said
  }

  private def comparison(op: String, name: String, right: ObjectNode): ObjectNode = {
    val said = node("compare").put("op", op)
    said.set[ObjectNode]("left", column(name))
    said.set[ObjectNode]("right", right)
    said
  }

  private def not(operand: ObjectNode): ObjectNode = {
    val said = node("not")
    said.set[ObjectNode]("operand", operand)
    said
  }

  private def many(kind: String, operands: Seq[ObjectNode]): ObjectNode = {
    val said = node(kind)
    val list = said.putArray("operands")
    operands.foreach(list.add)
    said
  }

  /** The first text, by code points, after all that begin with this one; none after all there are. */
  private def following(prefix: String): Option[String] = {
    val points = prefix.codePoints.toArray.reverse.dropWhile(_ == Character.MAX_CODE_POINT).reverse
    points.lastOption.map { last =>
      val next = if (last + 1 == Character.MIN_SURROGATE) Character.MAX_SURROGATE + 1 else last + 1
      new String(points.init :+ next, 0, points.length)
    }
  }
}
