package headrace.spark

import java.util.Locale

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, DateTimeUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StringType, StructType, TimestampNTZType, TimestampType}

/** Options of Spark's own CSV reader, by its names and with its defaults.
  *
  * @param inferSchema
  *   whether types are found out, and are not all strings
  * @param multiLine
  *   whether values in quotes may have several lines
  */
private[spark] case class CsvOptions(
    inferSchema: Boolean,
    multiLine: Boolean,
    private val flags: Map[String, Boolean],
    private val bytes: Map[String, Byte],
    private val texts: Map[String, String],
    private val corruptColumn: String,
    private val columnPruning: Boolean,
    private val timeZone: String)
    extends Serializable {

  /** The place of each column asked for is that in the schema of the files, which have no column of malformed rows. */
  def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit = {
    for (name <- Seq(dataSchema, asked).flatMap(_.find(_.name == corruptColumn)) if name.dataType != StringType) {
      throw new IllegalArgumentException(s"the column '$corruptColumn' of malformed rows is a string")
    }
    val written = dataSchema.fieldNames.filter(_ != corruptColumn)
    val values = asked.fieldNames.filter(_ != corruptColumn)
    flags.foreach { case (name, value) => node.put(name, value) }
    bytes.foreach { case (name, value) => node.put(name, value.toInt) }
    texts.foreach { case (name, value) => node.put(name, value) }
    node.put("multiLine", multiLine).put("columns", written.length)
    // As in Spark's own reader: who asks for some of the columns alone does not hear of rows that lack others.
    node.put("counted", !columnPruning || values.length == written.length && values.nonEmpty)
    val places = node.putArray("places")
    asked.fieldNames.foreach(name => if (name == corruptColumn) places.addNull() else places.add(written.indexOf(name)))
    val timed = asked.exists(_.dataType == TimestampType)
    Zones.describe(node.putObject("zone"), if (timed) timeZone else "UTC")
    val zones = node.putArray("zoneNames")
    if (timed) Zones.names.foreach(zones.add)
    // As Spark's own reader strips them, which is by Scala, whose versions differ.
    node.put("stripsReturns", "\r".stripLineEnd.isEmpty)
  }
}

private[spark] object CsvOptions {
  private val Flags = Seq("header" -> false, "ignoreLeadingWhiteSpace" -> false, "ignoreTrailingWhiteSpace" -> false,
    "preferDate" -> true)

  private val Texts = Seq("nullValue" -> "", "nanValue" -> "NaN", "positiveInf" -> "Inf", "negativeInf" -> "-Inf",
    "emptyValue" -> "")

  /** Options of Spark's reader that are taken with one value alone: that which it has by default, where it has one. */
  private val Fixed = Seq("locale" -> "en-US", "maxCharsPerColumn" -> "-1", "samplingRatio" -> "1.0",
    "unescapedQuoteHandling" -> "STOP_AT_DELIMITER", "enforceSchema" -> "true", "maxColumns" -> "20480",
    "dateFormat" -> "yyyy-MM-dd")

  /** And those that are not taken at all. */
  private val Refused = Seq("charToEscapeQuoteEscaping", "timestampFormat", "timestampNTZFormat",
    "enableDateTimeParsingFallback", "lineSep", "inputBufferSize", "singleVariantColumn")

  /** The names of all that may be given. */
  val Known: Seq[String] = (Flags ++ Texts ++ Fixed).map(_._1) ++ Seq("sep", "delimiter", "quote", "escape", "comment",
    "multiLine", "mode", "columnNameOfCorruptRecord", "columnPruning", "timeZone", "inferSchema", "encoding", "charset")

  private val Modes = Seq("permissive", "dropmalformed", "failfast")

  def apply(told: CaseInsensitiveMap[String], session: SQLConf): CsvOptions = {
    Refused.filter(told.contains).foreach { name =>
      throw unsupported(s"the option '$name' of Spark's CSV reader is not known to the source 'arrow'")
    }
    for ((name, only) <- Fixed; value <- told.get(name) if !value.equalsIgnoreCase(only)) {
      throw unsupported(s"the option '$name' of CSV is '$only' in the source 'arrow', and was '$value'")
    }
    for (charset <- told.get("encoding").orElse(told.get("charset")) if !charset.equalsIgnoreCase("UTF-8")) {
      throw unsupported(s"the source 'arrow' reads CSV in UTF-8, and the option 'encoding' was '$charset'")
    }
    if (session.legacyTimeParserPolicy.toString == "LEGACY") {
      throw unsupported("the source 'arrow' reads no CSV where spark.sql.legacy.timeParserPolicy is LEGACY")
    }
    val mode = told.get("mode").map(_.toLowerCase(Locale.ROOT)).filter(Modes.contains).getOrElse(Modes.head)
    val multiLine = flag(told, "multiLine", false)
    CsvOptions(
      flag(told, "inferSchema", false),
      multiLine,
      Flags.map { case (name, default) => name -> flag(told, name, default) }.toMap
        + ("strictDates" -> told.contains("dateFormat"))
        + ("caseSensitive" -> session.caseSensitiveAnalysis)
        + ("clocks" -> (session.timestampType == TimestampNTZType)),
      Map("delimiter" -> delimiter(told), "quote" -> byte(told, "quote", '"'), "escape" -> byte(told, "escape", '\\'))
        ++ told.get("comment").filter(_.nonEmpty).map(_ => "comment" -> byte(told, "comment", '#')),
      Texts.map { case (name, default) => name -> told.getOrElse(name, default) }.toMap + ("mode" -> mode),
      told.getOrElse("columnNameOfCorruptRecord", session.columnNameOfCorruptRecord),
      flag(told, "columnPruning", !multiLine && session.csvColumnPruning),
      DateTimeUtils.getZoneId(told.getOrElse("timeZone", session.sessionLocalTimeZone)).getId)
  }

  private def delimiter(told: CaseInsensitiveMap[String]): Byte =
    told.get("sep").orElse(told.get("delimiter")).getOrElse(",") match {
      case "\\t" => '\t'
      case "\\\\" => '\\'
      case text if text.length == 1 && text != "\\" => ascii("sep", text)
      case text => throw unsupported(s"the option 'sep' of CSV is one character of ASCII in the source 'arrow', and was '$text'")
    }

  /** 0 for none. */
  private def byte(told: CaseInsensitiveMap[String], name: String, default: Char): Byte = told.get(name) match {
    case None => default.toByte
    case Some("") => 0
    case Some(text) => ascii(name, text)
  }

  private def ascii(name: String, text: String): Byte = {
    if (text.length != 1 || text.head > 126) {
      throw unsupported(s"the option '$name' of CSV is one character of ASCII in the source 'arrow', and was '$text'")
    }
    text.head.toByte
  }

  private def flag(told: CaseInsensitiveMap[String], name: String, default: Boolean): Boolean =
    told.get(name).map(_.toLowerCase(Locale.ROOT)) match {
      case None => default
      case Some("true") => true
      case Some("false") => false
      case Some(other) => throw new IllegalArgumentException(s"the option '$name' is true or false, and was '$other'")
    }

  private def unsupported(text: String) = new UnsupportedOperationException(text)
}
