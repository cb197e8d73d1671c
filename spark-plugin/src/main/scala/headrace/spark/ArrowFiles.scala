package headrace.spark

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.{DataType, StructType}

/** What both faces of the source, the table and the file format, say of files. */
private[spark] object ArrowFiles {
  /** The schema of the first file, with types that fit all files where it has none, or of all files with the option
    * `mergeSchema`; none where there is no file.
    *
    * @throws Refusal
    *   a file cannot be read, or a column of it, or two of them differ too much
    */
  def schema(session: SparkSession, read: ReadOptions, listed: Seq[FileStatus]): Option[StructType] =
    try found(session, read, listed)
    catch {
      case why @ (_: IOException | _: UnsupportedOperationException | _: IllegalArgumentException) =>
        throw new Refusal(why.getMessage, why)
    }

  private def found(session: SparkSession, read: ReadOptions, listed: Seq[FileStatus]): Option[StructType] = {
    val files = listed.sortBy(_.getPath.toString) // which a listing need not be
    files.headOption.map { file =>
      read.format(file.getPath) match {
        case Csv(options) if options.inferSchema =>
          schema(file, read, CsvTypes.find(session, read, files, schema(file, read, Nil)))
        case _ if read.mergeSchema => merged(session, read, files)
        case _ => schema(file, read, Nil)
      }
    }
  }

  /** The file that gives the schema of all, as it is shown. */
  def first(listed: Seq[FileStatus]): Option[String] =
    if (listed.isEmpty) None else Some(shown(listed.minBy(_.getPath.toString).getPath))

  private def schema(file: FileStatus, read: ReadOptions, kinds: Seq[String]) =
    FileSchema.read(
      NativeReader.schemaOf(
        Request.file(file.getPath, file.getLen, file.getModificationTime, read, kinds),
        bytes(file.getPath, file.getLen, file.getModificationTime, read.hadoop.value.value)),
      shown(file.getPath))

  private def merged(session: SparkSession, read: ReadOptions, files: Seq[FileStatus]) = {
    val tasks = math.min(files.length, session.sparkContext.defaultParallelism)
    val found = session.sparkContext.parallelize(files, tasks).map(schema(_, read, Nil).json).collect()
    found.zip(files).foldLeft(MergedSchema(new StructType, Map.empty, read.caseSensitive)) { case (merged, (json, file)) =>
      merged.and(DataType.fromJson(json).asInstanceOf[StructType], shown(file.getPath))
    }.schema
  }

  /** The bytes of a file as it was listed; null of a local one, which the native part opens. */
  def bytes(path: Path, size: Long, modified: Long, hadoop: => Configuration): HadoopFile =
    if (isLocal(path)) null else new HadoopFile(path, hadoop, size, modified)

  /** A path as users know it: of a local file without the scheme, so that the native part can open it. */
  def shown(path: Path): String = if (isLocal(path)) path.toUri.getPath else path.toString

  def readOnly: Throwable = new UnsupportedOperationException(
    "the source 'arrow' reads files, and writes none: write with format(\"parquet\")")

  private def isLocal(path: Path) = path.toUri.getScheme == null || path.toUri.getScheme == "file"
}
