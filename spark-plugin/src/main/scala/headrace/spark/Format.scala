package headrace.spark

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

private[spark] case object Parquet extends Format {
  override def splitable(path: Path): Boolean = true

  override def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit = node.put("kind", "parquet")
}

private[spark] case class Csv(options: CsvOptions) extends Format {
  override def splitable(path: Path): Boolean = !options.multiLine && !path.getName.endsWith(".gz")

  override def describe(node: ObjectNode, dataSchema: StructType, asked: StructType): Unit =
    options.describe(node.put("kind", "csv"), dataSchema, asked)
}

private[spark] object Format {
  private val Packed = Set("gz", "bz2", "deflate", "lz4", "snappy", "zst")

  /** What the option `format` names, else the ending of a file's name; else Parquet. */
  def of(told: Option[String], csv: => CsvOptions, path: Path): Format = {
    val endings = path.getName.toLowerCase.split('.').toSeq.drop(1).reverse.dropWhile(Packed)
    told.map(_.toLowerCase).orElse(endings.headOption.filter(_ == "csv")).getOrElse("parquet") match {
      case "parquet" => Parquet
      case "csv" => Csv(csv)
      case other => throw new IllegalArgumentException(s"the option 'format' is parquet or csv, and was '$other'")
    }
  }
}
