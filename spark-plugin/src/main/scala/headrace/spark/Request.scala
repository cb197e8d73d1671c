package headrace.spark

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.StructType

/** What Spark asks of files.
  *
  * @param dataSchema
  *   all columns that the files have
  * @param columns
  *   those of them that are asked for
  * @param filters
  *   rows of which any of them is not true may be left out, and need not be: as JSON, made where Spark hands them over,
  *   for its dates are of that JVM's zone
  * @param limit
  *   rows of each file that are enough
  * @param first
  *   the file whose columns these are, if nobody gave a schema
  */
case class Asked(
    dataSchema: StructType, columns: StructType, filters: String, limit: Option[Int], first: Option[String])

/** What is asked of the native part, as the JSON that `request.rs` reads. */
private[spark] object Request {
  private val mapper = new ObjectMapper

  /** A file, and what was listed of it; and what its columns are, by part of the files, if they do not say so. */
  def file(path: Path, size: Long, modified: Long, read: ReadOptions, kinds: Seq[String]): String = {
    val node = fileNode(path, size, modified)
    val format = node.putObject("format")
    read.format(path).describe(format, new StructType, new StructType)
    val found = format.putArray("kinds")
    kinds.foreach(kind => found.add(mapper.readTree(kind)))
    node.toString
  }

  /** A part of a file with columns of these names, whose types are to be found out. */
  def untyped(file: FileStatus, start: Long, length: Long, names: StructType, read: ReadOptions): String = {
    val node = fileNode(file.getPath, file.getLen, file.getModificationTime).put("start", start).put("length", length)
    read.format(file.getPath).describe(node.putObject("format"), names, new StructType)
    node.toString
  }

  /** What one task reads: rows that begin in a part of a file. */
  def part(file: PartitionedFile, asked: Asked, read: ReadOptions): String = {
    val node = fileNode(file.toPath, file.fileSize, file.modificationTime)
    read.format(file.toPath).describe(node.putObject("format"), asked.dataSchema, asked.columns)
    node.put("start", file.start).put("length", file.length)
    node.set[ObjectNode]("schema", mapper.readTree(Layout.of(asked.columns).json))
    node.put("caseSensitive", read.caseSensitive).put("batchRows", read.batchRows)
    node.put("batchBytes", read.batchBytes)
    node.set[JsonNode]("filters", mapper.readTree(asked.filters))
    asked.limit.foreach(node.put("limit", _))
    asked.first.foreach(node.put("first", _))
    node.toString
  }

  private def fileNode(path: Path, size: Long, modified: Long): ObjectNode =
    mapper.createObjectNode().put("path", ArrowFiles.shown(path)).put("size", size).put("modified", modified)
}
