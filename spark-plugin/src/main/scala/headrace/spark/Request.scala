package headrace.spark

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/** What Spark asks of files.
  *
  * @param filters
  *   rows of which any of them is not true may be left out, and need not be
  * @param limit
  *   rows of each file that are enough
  */
case class Asked(columns: StructType, filters: Seq[Filter], limit: Option[Int])

/** What is asked of the native part, as the JSON that `request.rs` reads. */
private[spark] object Request {
  private val mapper = new ObjectMapper

  /** A file, and what was listed of it. */
  def file(path: Path, size: Long, modified: Long): String = fileNode(path, size, modified).toString

  /** What one task reads: rows that begin in a part of a file. */
  def part(file: PartitionedFile, asked: Asked, read: ReadOptions): String = {
    val node = fileNode(file.toPath, file.fileSize, file.modificationTime)
    node.put("start", file.start).put("length", file.length)
    node.set[ObjectNode]("schema", mapper.readTree(asked.columns.json))
    node.put("caseSensitive", read.caseSensitive).put("batchRows", read.batchRows)
    node.put("batchBytes", read.batchBytes)
    node.set[ObjectNode]("filters", Filters.json(asked.filters))
    asked.limit.foreach(node.put("limit", _))
    node.toString
  }

  private def fileNode(path: Path, size: Long, modified: Long): ObjectNode = {
    val node = mapper.createObjectNode().put("path", ArrowFiles.shown(path)).put("size", size).put("modified", modified)
    node.putObject("format").put("kind", "parquet")
    node
  }
}
