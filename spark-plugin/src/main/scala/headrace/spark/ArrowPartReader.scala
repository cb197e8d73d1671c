package headrace.spark

import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** One part of a file, batch by batch; then what its folder's name says of its rows. */
class ArrowPartReader(file: PartitionedFile, asked: Asked, partitionSchema: StructType, read: ReadOptions)
    extends PartitionReader[ColumnarBatch] {

  private val reader = new NativeReader(
    Request.part(file, asked, read),
    asked.columns,
    ArrowFiles.bytes(file.toPath, file.fileSize, file.modificationTime, read.hadoop.value.value))

  /** Adds the row groups of the part. */
  def count(groups: RowGroups): Unit = groups.add(reader)

  override def next(): Boolean = reader.next()

  override def get(): ColumnarBatch = {
    val rows = reader.rows()
    val columns = reader.columns(asked.columns.length + partitionSchema.length)
    for (i <- partitionSchema.indices) {
      val constant = new ConstantColumnVector(rows, partitionSchema(i).dataType)
      ColumnVectorUtils.populate(constant, file.partitionValues, i)
      columns(asked.columns.length + i) = constant
    }
    new ColumnarBatch(columns, rows)
  }

  override def close(): Unit = reader.close()
}
