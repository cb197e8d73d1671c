package headrace.spark

import java.util

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.v2.FileTable
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The files of some paths, as a table that is read. */
class ArrowTable(
    override val name: String,
    session: SparkSession,
    options: CaseInsensitiveStringMap,
    paths: Seq[String],
    schema: Option[StructType]
) extends FileTable(session, options, paths, schema) {

  override def formatName: String = ArrowDataSource.Name

  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[ArrowFileFormat]

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] =
    ArrowFiles.schema(session, ReadOptions(session, options), files)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ArrowScanBuilder(session, fileIndex, dataSchema, mergedWith(options), schema.isDefined)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = throw ArrowFiles.readOnly

  private def mergedWith(others: CaseInsensitiveStringMap) = {
    val all = new util.HashMap[String, String](options.asCaseSensitiveMap)
    all.putAll(others.asCaseSensitiveMap)
    new CaseInsensitiveStringMap(all)
  }
}
