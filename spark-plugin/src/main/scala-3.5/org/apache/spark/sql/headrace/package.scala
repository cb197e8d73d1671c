package org.apache.spark.sql

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.types.StructType

package object headrace {
  type Session = SparkSession
  type Frame = Dataset[Row]

  /** What Spark's own pickler takes, as the session says that asks for it. */
  private[headrace] def pickling(schema: StructType): InternalRow => Any =
    row => EvaluatePython.toJava(row, schema)

  /** Whether Python gets binary values as bytes. */
  private[headrace] def binaryAsBytes(): Boolean = false
}
