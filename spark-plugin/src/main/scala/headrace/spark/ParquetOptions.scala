package headrace.spark

import java.util.{Locale, TimeZone}

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.internal.SQLConf

/** By which calendar days of old are counted in Parquet files that Spark did not write, by the names of Spark's reader.
  *
  * @param days
  *   of dates and timestamps: CORRECTED, LEGACY or EXCEPTION
  * @param int96
  *   of timestamps that are INT96
  */
private[spark] case class ParquetOptions(days: String, int96: String) extends Serializable {
  /** Times of two calendars are those of clocks in the zone of the JVM, if a file names no other. */
  def describe(node: ObjectNode): Unit =
    node.put("days", days).put("int96", int96).put("zone", TimeZone.getDefault.getID)
}

private[spark] object ParquetOptions {
  private val Corrected = "CORRECTED"

  private val Modes = Seq(Corrected, "LEGACY", "EXCEPTION")

  def apply(told: CaseInsensitiveMap[String], session: SQLConf): ParquetOptions =
    ParquetOptions(mode("datetimeRebaseMode", told, session), mode("int96RebaseMode", told, session))

  /** What nobody has set is CORRECTED: writers other than Spark count by one calendar. */
  private def mode(name: String, told: CaseInsensitiveMap[String], session: SQLConf) = {
    val settings = Seq(s"spark.sql.parquet.${name}InRead", s"spark.sql.legacy.parquet.${name}InRead")
    val found = told.get(name).orElse(settings.find(session.contains).map(session.getConfString)).getOrElse(Corrected)
    Some(found.toUpperCase(Locale.ROOT)).filter(Modes.contains).getOrElse(throw new IllegalArgumentException(
      s"the option '$name' is one of ${Modes.mkString(", ")}, and was '$found'"))
  }
}
