package headrace.spark

import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.SerializableConfiguration

import scala.collection.JavaConverters._
import scala.util.Try

/** How files are read, as the user says with `option`, and as the session is set.
  *
  * @param batchRows
  *   rows that a batch has at most
  * @param batchBytes
  *   bytes that a batch has at most, by the width of rows that the file tells
  * @param hadoop
  *   how Hadoop reaches its file systems
  * @param told
  *   the format of all files, where the user says it
  * @param mergeSchema
  *   whether the columns are those of all files, and not of the first
  * @param csv
  *   of files of CSV: where there are none, what is wrong with the options shows nowhere
  * @param parquet
  *   likewise
  */
case class ReadOptions(
    batchRows: Int,
    batchBytes: Long,
    caseSensitive: Boolean,
    files: FileSourceOptions,
    hadoop: Broadcast[SerializableConfiguration],
    told: Option[String],
    mergeSchema: Boolean,
    csv: Try[CsvOptions],
    parquet: Try[ParquetOptions])
    extends Serializable {

  /** How a file is written. */
  private[spark] def format(path: Path): Format = Format.of(told, csv.get, parquet.get, path)
}

object ReadOptions {
  /** Fewer, and what each batch costs shows; more, and batches leave the processor's caches. */
  private val DefaultBatchRows = 32768

  /** Above what plain columns fill, a hundred of them; below what texts and images of any size could. */
  private val DefaultBatchBytes = 64L << 20

  def apply(session: SparkSession, options: CaseInsensitiveStringMap): ReadOptions =
    apply(session, options.asCaseSensitiveMap.asScala.toMap)

  def apply(session: SparkSession, options: Map[String, String]): ReadOptions = {
    OptionNames.check(options.keys)
    val told = CaseInsensitiveMap(options)
    ReadOptions(
      told.get("batchRows").map(positive("batchRows", _)).getOrElse(DefaultBatchRows),
      told.get("batchBytes").map(bytes("batchBytes", _)).getOrElse(DefaultBatchBytes),
      session.conf.get("spark.sql.caseSensitive").toBoolean,
      new FileSourceOptions(told),
      session.sparkContext.broadcast(
        new SerializableConfiguration(session.sessionState.newHadoopConfWithOptions(options))),
      told.get("format"),
      told.get("mergeSchema").exists(flag("mergeSchema", _)),
      Try(CsvOptions(told, session.sessionState.conf)),
      Try(ParquetOptions(told, session.sessionState.conf)))
  }

  /** A size, plain or as Spark writes sizes: 1000000, 4m. */
  private def bytes(name: String, text: String): Long =
    Try(JavaUtils.byteStringAsBytes(text.trim)).toOption.filter(_ > 0).getOrElse(throw new IllegalArgumentException(
      s"the option '$name' is a size above 0, such as 4m, and was '$text'"))

  private def flag(name: String, text: String): Boolean = Try(text.trim.toBoolean).getOrElse(
    throw new IllegalArgumentException(s"the option '$name' is true or false, and was '$text'"))

  private def positive(name: String, text: String): Int =
    Try(text.trim.toInt).toOption.filter(_ > 0).getOrElse(throw new IllegalArgumentException(
      s"the option '$name' is a number above 0, and was '$text'"))
}
