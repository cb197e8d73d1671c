package headrace.spark

import java.util

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A feature group or view, at the snapshots that were the newest as it was loaded: all reads of it give the same rows.
  */
class HeadraceTable(val service: HeadraceService, what: String, val read: PreparedRead)
    extends Table with SupportsRead {

  override def name: String = s"$what of $service"

  override def schema: StructType = read.schema

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = new HeadraceScanBuilder(this)
}

object HeadraceTable {
  import HeadraceOptions.{Group, View}

  def load(options: HeadraceOptions): HeadraceTable = {
    val service = options.service
    val asked = HeadraceService.mapper.createObjectNode()
    val name = options.source match {
      case Group(name, snapshot) =>
        val whole = newest(service, name)
        asked.put("kind", "query")
        val source = asked.putObject("query").putObject("source").put("group", whole)
        snapshot.foreach(source.put("snapshot", _))
        whole
      case View(name) =>
        asked.put("kind", "training").put("view", name)
        name
    }
    new HeadraceTable(service, name, service.prepare(asked))
  }

  /** The whole reference of a group; one without a version is the newest. */
  private def newest(service: HeadraceService, name: String): String =
    if (name.contains('@')) name
    else {
      val body: ObjectNode = HeadraceService.mapper.createObjectNode().put("name", name)
      val version = service.ask("get_group", body).get("definition").get("version").asInt
      s"$name@v$version"
    }
}
