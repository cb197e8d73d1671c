package headrace.spark

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

/** The types of columns of CSV, found out by a job of Spark that looks through all values. */
private[spark] object CsvTypes {
  /** For each part of the files, what its columns are, in the words of the native part. */
  def find(session: SparkSession, read: ReadOptions, files: Seq[FileStatus], names: StructType): Seq[String] = {
    val most = session.sessionState.conf.filesMaxPartitionBytes
    val parts = files.filter(_.getLen > 0).flatMap { file =>
      val length = if (read.format(file.getPath).splitable(file.getPath)) most else file.getLen
      (0L until file.getLen by length).map { start =>
        val request = Request.untyped(file, start, length, names, read)
        (request, file.getPath.toString, file.getLen, file.getModificationTime)
      }
    }
    val hadoop = read.hadoop
    val tasks = session.sparkContext.parallelize(parts, Math.max(parts.length, 1))
    tasks.map { case (request, path, size, modified) =>
      NativeReader.kindsOf(request, ArrowFiles.bytes(new Path(path), size, modified, hadoop.value.value))
    }.collect().toSeq
  }
}
