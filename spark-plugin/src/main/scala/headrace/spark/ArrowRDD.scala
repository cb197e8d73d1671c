package headrace.spark

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Encoder, Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.collection.JavaConverters._
import scala.reflect.ClassTag

/** The rows of files as an RDD, read lazily and batch by batch.
  *
  * Source: "Zero-Cost, Arrow-Enabled Data Interface for Apache Spark", II.A.
  *
  * @param schema
  *   of the batches that `readers` give
  */
class ArrowRDD[T: ClassTag] private (
    context: SparkContext,
    @transient private val files: Array[FilePartition],
    readers: PartitionReaderFactory,
    schema: StructType,
    @transient private val encoder: ExpressionEncoder[T]
) extends RDD[T](context, Nil) {

  /** Bound where the session is: executors cannot look into lists and maps. */
  private val values = encoder.resolveAndBind(toAttributes(schema))

  /** The same rows as values of another type, whose fields are found by their names. */
  def as[U: Encoder]: ArrowRDD[U] = {
    val other = encoderFor(implicitly[Encoder[U]])
    new ArrowRDD[U](sparkContext, files, readers, schema, other)(other.clsTag)
  }

  override protected def getPartitions: Array[Partition] = files.map(identity[Partition])

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    split.asInstanceOf[FilePartition].preferredLocations().toSeq

  override def compute(split: Partition, task: TaskContext): Iterator[T] = {
    val reader = readers.createColumnarReader(split.asInstanceOf[FilePartition])
    task.addTaskCompletionListener[Unit](_ => reader.close())
    val attributes = toAttributes(schema)
    val unsafe = UnsafeProjection.create(attributes, attributes)
    val value = values.createDeserializer()
    Iterator.continually(reader).takeWhile(_.next()).flatMap(_.get().rowIterator().asScala)
      .map(row => value(unsafe(row): InternalRow))
  }
}

object ArrowRDD {
  /** Which parts of files each partition of an RDD reads: one list a partition. */
  type FilePartitioner = Seq[PartitionedFile] => Seq[Seq[PartitionedFile]]

  /** Makes what reads the files, on executors; it is told the schema that the batches are to have. */
  type DatasetFactory = StructType => PartitionReaderFactory

  private[spark] def apply(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      numPartitions: Int,
      partitioner: Option[FilePartitioner],
      datasetFactory: Option[DatasetFactory]
  ): ArrowRDD[Row] = {
    require(numPartitions >= 0, s"numPartitions is a number of partitions, and was $numPartitions")
    val told = new CaseInsensitiveStringMap((options + ("path" -> path)).asJava)
    val source = new ArrowDataSource
    val scan = source.getTable(told).newScanBuilder(told).build().asInstanceOf[ArrowScan]
    val planned = scan.planInputPartitions().map(_.asInstanceOf[FilePartition])
    val parts = planned.toSeq.flatMap(_.files)
    val files = partitioner match {
      case Some(own) => numbered(own(parts))
      case None if numPartitions > 0 => numbered(evenly(parts, numPartitions, file => scan.isSplitable(file.toPath)))
      case None => planned
    }
    val schema = scan.readSchema()
    val readers = datasetFactory.map(_(schema)).getOrElse(scan.createReaderFactory())
    new ArrowRDD[Row](session.sparkContext, files, readers, schema, ExpressionEncoder(schema))
  }

  private def numbered(partitions: Seq[Seq[PartitionedFile]]) =
    partitions.zipWithIndex.map { case (files, index) => FilePartition(index, files.toArray) }.toArray

  /** As many bytes for each partition as the files can be split into, in the order of the files. */
  private def evenly(
      parts: Seq[PartitionedFile], number: Int, splitable: PartitionedFile => Boolean): Seq[Seq[PartitionedFile]] = {
    val share = math.max(1, (parts.map(_.length).sum + number - 1) / number)
    val partitions = Array.fill(number)(Vector.empty[PartitionedFile])
    var before = 0L
    for (part <- parts) {
      val cuts = if (splitable(part)) cutsOf(part.length, before % share, share) else Seq(part.length)
      var start = 0L
      for (length <- cuts) {
        val at = math.min((before + start) / share, number - 1L).toInt
        partitions(at) :+= part.copy(start = part.start + start, length = length)
        start += length
      }
      before += part.length
    }
    partitions.toSeq
  }

  /** The lengths into which so many bytes fall where a partition has `share`, and `filled` of them already. */
  private def cutsOf(length: Long, filled: Long, share: Long): Seq[Long] = {
    val first = math.min(length, share - filled)
    first +: (first until length by share).map(start => math.min(share, length - start))
  }
}
