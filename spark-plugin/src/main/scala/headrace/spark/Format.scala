package headrace.spark

import java.util.{Locale, TimeZone}

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.types.StructType

/** How the rows of a file are written down. */
private[spark] sealed trait Format extends Serializable {
  /** Whether several tasks can read a file, each a part. */
  def splitable(path: Path): Boolean

  /** Says so to the native part, with what else it has to know to read some columns of the files'. */
  def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit
}

private[spark] case class Parquet(options: ParquetOptions) extends Format {
  override def splitable(path: Path): Boolean = true

  override def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit =
    options.describe(node.put("kind", "parquet"))
}

private[spark] case class Csv(options: CsvOptions) extends Format {
  override def splitable(path: Path): Boolean = !options.multiLine && !path.getName.endsWith(".gz")

  override def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit =
    options.describe(node.put("kind", "csv"), dataSchema, asked)
}

private[spark] case object Ipc extends Format {
  override def splitable(path: Path): Boolean = true

  override def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit = node.put("kind", "ipc")
}

private[spark] case object Orc extends Format {
  override def splitable(path: Path): Boolean = true

  /** Times of ORC are those of clocks, which Spark takes to be in the zone of its JVM, whatever the session's is. */
  override def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit =
    node.put("kind", "orc").put("zone", TimeZone.getDefault.getID)
}

private[spark] object Format {
  private val Packed = Set("gz", "bz2", "deflate", "lz4", "snappy", "zst")

  private val Names = Map("parquet" -> "parquet", "csv" -> "csv", "ipc" -> "ipc", "arrow" -> "ipc", "orc" -> "orc")

  private val Endings = Map("csv" -> "csv", "orc" -> "orc", "arrow" -> "ipc", "arrows" -> "ipc", "feather" -> "ipc",
    "ipc" -> "ipc")

  /** What the option `format` names, else the ending of a file's name; else Parquet. */
  def of(told: Option[String], csv: => CsvOptions, parquet: => ParquetOptions, path: Path): Format =
    kind(told, path) match {
      case "csv" => Csv(csv)
      case "ipc" => Ipc
      case "orc" => Orc
      case _ => Parquet(parquet)
    }

  /** Whether rows of such a file are left out by filters before Spark sees them. */
  def filters(told: Option[String], path: Path): Boolean = kind(told, path) == "parquet"

  private def kind(told: Option[String], path: Path) = told match {
    case Some(name) => Names.getOrElse(name.toLowerCase(Locale.ROOT), throw new IllegalArgumentException(
        s"the option 'format' is one of ${Names.keys.toSeq.sorted.mkString(", ")}, and was '$name'"))
    case None =>
      val endings = path.getName.toLowerCase(Locale.ROOT).split('.').toSeq.drop(1).reverse.dropWhile(Packed)
      endings.headOption.flatMap(Endings.get).getOrElse("parquet")
  }
}
