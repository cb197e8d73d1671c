package headrace.spark

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What one task reads of a prepared read. */
class HeadracePartition(val part: Int, val ticket: String) extends InputPartition

/** Makes, on an executor, the reader of one part.
  *
  * @param read
  *   what all of them ask for, as `rows.rs` reads it; it has the token, and is shown nowhere
  */
class HeadraceReaderFactory(read: String, schema: StructType) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("the source 'headrace' gives batches of columns")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = {
    val one = partition.asInstanceOf[HeadracePartition]
    val asked = HeadraceService.mapper.readTree(read).asInstanceOf[ObjectNode].put("part", one.part)
    new HeadraceReader(asked.put("ticket", one.ticket).toString, schema)
  }
}

private class HeadraceReader(asked: String, schema: StructType) extends PartitionReader[ColumnarBatch] {
  private val flight = new NativeFlight(asked, schema)

  override def next(): Boolean = flight.next()

  override def get(): ColumnarBatch = flight.get()

  override def close(): Unit = flight.close()
}
