package org.apache.spark.sql.headrace

import headrace.spark.rows.RowReader

/** The rows of a reader that holds nothing to be closed. */
private[headrace] final class RowIterator[T](reader: RowReader[T]) extends Iterator[T] {
  private var more = reader.next()

  override def hasNext: Boolean = more

  override def next(): T = {
    val row = reader.get()
    more = reader.next()
    row
  }
}
