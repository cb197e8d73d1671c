package headrace.spark

import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReaderFactory
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Makes, on an executor, the reader of one part of a file. */
class ArrowReaderFactory(readDataSchema: StructType, partitionSchema: StructType, read: ReadOptions)
    extends FilePartitionReaderFactory {

  override def options: FileSourceOptions = read.files

  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def buildReader(file: PartitionedFile): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("the source 'arrow' gives batches of columns")

  override def buildColumnarReader(file: PartitionedFile): PartitionReader[ColumnarBatch] =
    new ArrowPartReader(file, readDataSchema, partitionSchema, read)
}
