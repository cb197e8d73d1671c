package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer

import headrace.spark.HeadraceException
import headrace.spark.rows.RowSink
import headrace.spark.rows.RowWriter
import net.razorvine.pickle.Pickler
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.types.StructType

/**
 * Pickles internal rows, many at a time: few at first, so that who wants a few rows waits for no more, then as many as
 * make a megabyte. A row that the row format does not carry goes as Spark pickles it, in its place; where there are many,
 * ever more of those that follow it do, too.
 *
 * @param bytes whether Python gets binary values as bytes, instead of bytearrays
 * @param places whether rows are tuples in Python, instead of rows with names
 */
private[headrace] final class RowPickler(
    rows: Iterator[InternalRow], schema: StructType, bytes: Boolean, places: Boolean)
    extends Iterator[Array[Byte]] {
  private var most = RowPickler.First
  private var odd: Array[Byte] = _
  private var oddRows = 1

  override def hasNext: Boolean = odd != null || rows.hasNext

  override def next(): Array[Byte] = {
    val found = if (odd == null) alike() else null
    if (found != null) found
    else {
      val pickle = odd
      odd = null
      pickle
    }
  }

  /** The next rows, up to one that is not carried; null if that is the first one. */
  private def alike(): Array[Byte] = {
    val out = new PickledRows.Output
    val sink = RowSink.to(out).as(schema).asPySpark(!bytes)
    val writer = (if (places) sink.asTuples() else sink).internalRows()
    var count = 0
    while (count < most && odd == null && writer.size() < RowPickler.Bytes && rows.hasNext) {
      if (write(writer, rows.next())) count += 1
    }
    if (count == 0) return null
    writer.end()
    if (count == most && most < RowPickler.Most) most *= 2
    out.pickle()
  }

  private def write(writer: RowWriter[InternalRow], row: InternalRow): Boolean =
    try {
      writer.write(row)
      true
    } catch {
      case _: HeadraceException =>
        EvaluatePython.registerPicklers()
        val some = ArrayBuffer(toPickle(row, schema, bytes))
        while (some.length < oddRows && rows.hasNext) some += toPickle(rows.next(), schema, bytes)
        odd = new Pickler(true, false).dumps(some.toArray)
        oddRows = math.min(2 * oddRows, RowPickler.MostOdd)
        false
    }
}

private object RowPickler {
  private val First = 128
  private val Most = 16384
  private val MostOdd = 128
  private val Bytes = 1 << 20
}
