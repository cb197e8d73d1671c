package headrace.spark

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.types.StructType

/** What both faces of the source, the table and the file format, say of files. */
private[spark] object ArrowFiles {
  /** The schema of the first file; none where there is no file. */
  def schema(files: Seq[FileStatus]): Option[StructType] =
    files.headOption.map(file => NativeReader.schemaOf(Request.file(local(file.getPath))))

  def readOnly: Throwable = new UnsupportedOperationException(
    "the source 'arrow' reads files, and writes none: write with format(\"parquet\")")

  /** The path of a local file, for the native part. */
  def local(path: Path): String = {
    val uri = path.toUri
    if (uri.getScheme != null && uri.getScheme != "file") {
      throw new UnsupportedOperationException(s"$path: the source 'arrow' reads local files only")
    }
    uri.getPath
  }
}
