package headrace.spark

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.types.{DataType, StructType}

import scala.collection.JavaConverters._

/** What a service says that a read gives, as `read.rs` tells it. */
class PreparedRead(told: JsonNode) {
  val schema: StructType = DataType.fromJson(told.get("schema").toString).asInstanceOf[StructType]

  /** Columns whose values Spark has as the service has them. */
  val exact: Set[String] = told.get("exact").elements.asScala.map(_.asText).toSet

  /** The protocol's `ReadRequest`, pinned: it gives the same rows whenever it is run. */
  def request: ObjectNode = told.get("request").deepCopy[ObjectNode]()

  /** The result of which the service gives a copy; null if of none. */
  def kept: JsonNode = told.get("kept")

  /** One for each part that can be fetched by itself. */
  def tickets: Seq[String] = told.get("tickets").elements.asScala.map(_.asText).toList
}
