package headrace.spark

import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReaderFactory
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Makes, on an executor, the reader of what one task reads: parts of files. */
class ArrowReaderFactory(asked: Asked, partitionSchema: StructType, read: ReadOptions)
    extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("the source 'arrow' gives batches of columns")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = {
    val groups = new RowGroups
    new CountedReader(new Parts(groups).createColumnarReader(partition), groups)
  }

  private class Parts(groups: RowGroups) extends FilePartitionReaderFactory {
    override def options: FileSourceOptions = read.files

    override def buildReader(file: PartitionedFile): PartitionReader[InternalRow] =
      throw new UnsupportedOperationException("the source 'arrow' gives batches of columns")

    override def buildColumnarReader(file: PartitionedFile): PartitionReader[ColumnarBatch] = {
      val reader = new ArrowPartReader(file, asked, partitionSchema, read)
      reader.count(groups)
      reader
    }
  }
}
