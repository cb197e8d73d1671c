package headrace.spark

import java.util.Locale

import org.apache.spark.sql.catalyst.DataSourceOptions
import org.apache.spark.sql.catalyst.csv.CSVOptions
import org.apache.spark.sql.execution.datasources.FileIndexOptions
import org.apache.spark.sql.execution.datasources.orc.OrcOptions
import org.apache.spark.sql.execution.datasources.parquet.{ParquetOptions => SparkParquet}

/** Names of options: one that nobody knows is a slip, by which rows would be read otherwise than was meant. */
private[spark] object OptionNames {
  /** By which the nearest is looked for. */
  private val Own = Seq("format", "batchRows", "batchBytes", "mergeSchema", "datetimeRebaseMode", "int96RebaseMode",
    "pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter", "basePath", "ignoreCorruptFiles",
    "ignoreMissingFiles") ++ CsvOptions.Known

  /** Those of Spark's sources of the same formats, some of which mean nothing here. */
  private val Sources: Seq[DataSourceOptions] =
    Seq(CSVOptions, OrcOptions, SparkParquet, FileIndexOptions)

  /** Those of streams of files, and what Spark itself adds. */
  private val Others = Seq("path", "paths", "returning_batch", "wholetext", "maxFilesPerTrigger", "maxBytesPerTrigger",
    "latestFirst", "maxFileAge", "fileNameOnly", "cleanSource", "sourceArchiveDir", "maxCachedFiles", "discardCachedInputRatio")

  private val known = (Own ++ Others).map(folded).toSet

  /** @throws IllegalArgumentException one is known neither here nor to Spark's sources, and is none of Hadoop's */
  def check(names: Iterable[String]): Unit =
    for (name <- names if !isKnown(name)) {
      val nearest = Own.minBy(distance(folded(name), _))
      throw new IllegalArgumentException(
        s"the source 'arrow' has no option '$name', nor have Spark's file sources: is '$nearest' meant?")
    }

  /** Hadoop's have dots; those that Spark sets for itself, as for a stream of files, begin with underscores. */
  private def isKnown(name: String) =
    name.contains('.') || name.startsWith("__") || known.contains(folded(name)) || Sources.exists(_.isValidOption(name))

  private def folded(name: String) = name.toLowerCase(Locale.ROOT)

  /** How many letters are to be written, left out or changed to come from one to the other. */
  private def distance(name: String, own: String): Int =
    folded(own).foldLeft((0 to name.length).toVector) { (row, letter) =>
      name.indices.foldLeft(Vector(row.head + 1)) { (next, i) =>
        val changed = row(i) + (if (name(i) == letter) 0 else 1)
        next :+ Seq(next(i) + 1, row(i + 1) + 1, changed).min
      }
    }.last
}
