package headrace.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** What both faces of the source, the table and the file format, say of files. */
private[spark] object ArrowFiles {
  /** The schema of the first file; none where there is no file. */
  def schema(session: SparkSession, options: Map[String, String], files: Seq[FileStatus]): Option[StructType] = {
    val hadoop = session.sessionState.newHadoopConfWithOptions(options)
    files.headOption.map { file =>
      NativeReader.schemaOf(
        Request.file(file.getPath, file.getLen, file.getModificationTime),
        bytes(file.getPath, file.getLen, file.getModificationTime, hadoop))
    }
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
