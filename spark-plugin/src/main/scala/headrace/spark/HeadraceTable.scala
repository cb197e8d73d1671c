package headrace.spark

import java.util

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
  import HeadraceOptions.{Group, Source, View}

  def load(options: HeadraceOptions): HeadraceTable = {
    val service = options.service
    val asked = HeadraceService.mapper.createObjectNode()
    orNeither(service, options.source) {
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
  }

  /** The whole reference of a group; one without a version is the newest. */
  private def newest(service: HeadraceService, name: String): String =
    if (name.contains('@')) name
    else s"$name@v${definition(service, "get_group", name).get("definition").get("version").asInt}"

  private def definition(service: HeadraceService, action: String, name: String) =
    service.ask(action, HeadraceService.mapper.createObjectNode().put("name", name))

  /** Where there is no such group, says whether there is such a view, and the other way round. */
  private def orNeither(service: HeadraceService, source: Source)(found: => HeadraceTable): HeadraceTable =
    try found
    catch {
      case missing: HeadraceRefusal if missing.refused.code == "NOT_FOUND" =>
        val (action, option) = source match {
          case _: Group => ("get_view", "view")
          case _: View => ("get_group", "group")
        }
        val name = source.name.takeWhile(_ != '@')
        val other =
          try {
            definition(service, action, name)
            s"""there is a feature $option of this name: read it with .option("$option", "$name")"""
          } catch {
            case neither: HeadraceRefusal if neither.refused.code == "NOT_FOUND" => s"nor a $option: ${neither.getMessage}"
          }
        throw new HeadraceRefusal(s"${missing.getMessage}; $other", missing.refused)
    }
}
