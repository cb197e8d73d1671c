package headrace.spark

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

/** A read of some columns and rows of a table: its pinned query, with steps added to it. */
case class HeadraceScan(
    table: HeadraceTable, readSchema: StructType, conditions: Seq[Conditions.Condition], limit: Option[Int])
    extends Scan with Batch {

  private lazy val prepared = table.service.prepare(request)

  override def description: String = {
    val filters = conditions.map(_.text).mkString("[", ", ", "]")
    val rows = limit.map(rows => s", PushedLimit: $rows").getOrElse("")
    s"headrace ${table.name}, PushedFilters: $filters$rows"
  }

  override def toBatch: Batch = this

  /** Else the service is asked for tickets to tell. */
  override def columnarSupportMode: ColumnarSupportMode = ColumnarSupportMode.SUPPORTED

  override def planInputPartitions(): Array[InputPartition] =
    prepared.tickets.zipWithIndex.map { case (ticket, part) => new HeadracePartition(part, ticket) }.toArray

  override def createReaderFactory(): PartitionReaderFactory = {
    val read = table.service.request()
    read.set[ObjectNode]("request", prepared.request)
    read.set[ObjectNode]("kept", prepared.kept)
    read.set[ObjectNode]("schema", HeadraceService.mapper.readTree(readSchema.json))
    read.put("parts", prepared.tickets.length)
    new HeadraceReaderFactory(read.toString, readSchema)
  }

  private def request: ObjectNode = {
    val request = table.read.request
    val steps = HeadraceScan.steps(request)
    def step(kind: String) = steps.addObject().put("step", kind)
    conditions.foreach(condition => step("filter").set[ObjectNode]("condition", condition.node))
    if (readSchema.length < table.schema.length && HeadraceScan.canBeFiltered(table)) {
      // Where only the rows are counted, they come with a column, as they must have one.
      val columns = if (readSchema.nonEmpty) readSchema.fieldNames.toSeq else Seq(HeadraceScan.narrowest(table.schema))
      columns.foreach(step("select").putArray("columns").add)
      // Which of the columns are labels matters to nobody here, and some may have gone.
      request.remove("labels")
    }
    limit.foreach(step("limit").put("rows", _))
    request
  }
}

object HeadraceScan {
  /** Whether steps may follow those that the query has: after a limit, none but another can. */
  def canBeFiltered(table: HeadraceTable): Boolean =
    !steps(table.read.request).elements.asScala.exists(_.get("step").asText == "limit")

  private def steps(request: ObjectNode): ArrayNode = {
    val query = request.get("query").asInstanceOf[ObjectNode]
    if (query.has("steps")) query.get("steps").asInstanceOf[ArrayNode] else query.putArray("steps")
  }

  private def narrowest(schema: StructType) = schema.minBy(_.dataType.defaultSize).name
}
