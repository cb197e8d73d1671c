package org.apache.spark.sql

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

package object headrace {
  type Session = classic.SparkSession
  type Frame = classic.Dataset[Row]

  /** What Spark's own pickler takes, as the session says that asks for it. */
  private[headrace] def pickling(schema: StructType): InternalRow => Any = {
    val bytes = binaryAsBytes()
    row => EvaluatePython.toJava(row, schema, bytes)
  }

  /** Whether Python gets binary values as bytes. */
  private[headrace] def binaryAsBytes(): Boolean = SQLConf.get.pysparkBinaryAsBytes
}
