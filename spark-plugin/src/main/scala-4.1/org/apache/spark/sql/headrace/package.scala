package org.apache.spark.sql

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.types.StructType

package object headrace {
  type Session = classic.SparkSession
  type Frame = classic.Dataset[Row]

  /** What Spark's own pickler takes. */
  private[headrace] def toPickle(row: InternalRow, schema: StructType, bytes: Boolean): Any =
    EvaluatePython.toJava(row, schema, bytes)

  /** Whether Python gets binary values as bytes. */
  private[headrace] def binaryAsBytes(frame: Frame): Boolean = frame.sparkSession.sessionState.conf.pysparkBinaryAsBytes
}
