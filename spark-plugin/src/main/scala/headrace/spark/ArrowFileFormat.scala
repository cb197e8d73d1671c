package headrace.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriterFactory, PartitionedFile}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.{DataSourceRegister, Filter}
import org.apache.spark.sql.types.StructType

import scala.collection.JavaConverters._

/** The face of the source where Spark knows files by their format alone: in SQL, ``arrow.`path` `` and `USING arrow`. */
class ArrowFileFormat extends FileFormat with DataSourceRegister with Serializable {
  /** The file that gave the schema, if nobody else did. */
  private var first: Option[String] = None

  override def shortName: String = ArrowDataSource.Name

  /** How plans and catalogs show it. */
  override def toString: String = "Arrow"

  override def inferSchema(
      session: SparkSession, options: Map[String, String], files: Seq[FileStatus]): Option[StructType] = {
    val read = ReadOptions(session, options)
    first = if (read.mergeSchema) None else ArrowFiles.first(files)
    ArrowFiles.schema(session, read, files)
  }

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = {
    val (told, conf) = (CaseInsensitiveMap(options), session.sessionState.conf)
    Format.of(told.get("format"), CsvOptions(told, conf), ParquetOptions(told, conf), path).splitable(path)
  }

  override def supportBatch(session: SparkSession, schema: StructType): Boolean = true

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration
  ): PartitionedFile => Iterator[InternalRow] = {
    val asked = Asked(dataSchema, requiredSchema, named(session).json(filters).toString, limit = None, first)
    val read = ReadOptions(session, options)
    // False where no code is generated for what reads them, or there are too many columns for it.
    val inBatches = options.getOrElse(FileFormat.OPTION_RETURNING_BATCH, "false").toBoolean
    file => {
      val reader = new ArrowPartReader(file, asked, partitionSchema, read)
      Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => reader.close()))
      val batches = Iterator.continually(reader).takeWhile(_.next()).map(_.get())
      // Spark takes batches by the type of rows; and of rows it expects that they are unsafe ones.
      if (inBatches) batches.asInstanceOf[Iterator[InternalRow]]
      else {
        val unsafe = UnsafeProjection.create((requiredSchema ++ partitionSchema).map(_.dataType).toArray)
        batches.flatMap(_.rowIterator().asScala).map(unsafe)
      }
    }
  }

  /** How Spark names columns: fields of structs are told to no format but those that a setting lists. */
  private def named(session: SparkSession): Filters = {
    val listed = session.sessionState.conf.getConf(SQLConf.NESTED_PREDICATE_PUSHDOWN_FILE_SOURCE_LIST)
    if (listed.split(',').exists(_.trim.equalsIgnoreCase(shortName))) Filters.Quoted else Filters.Whole
  }

  override def prepareWrite(
      session: SparkSession, job: Job, options: Map[String, String], schema: StructType): OutputWriterFactory =
    throw ArrowFiles.readOnly
}
