package org.apache.spark.sql.headrace

import org.apache.spark.JobArtifactSet
import org.apache.spark.TaskContext
import org.apache.spark.api.python.ChainedPythonFunctions
import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.execution.python.PythonSQLMetrics
import org.apache.spark.sql.execution.python.PythonUDFRunner
import org.apache.spark.sql.types.StructType

/** Python UDFs that get rows, and reply with them. */
private[headrace] case class RowEvalPythonExec(udfs: Seq[PythonUDF], resultAttrs: Seq[Attribute], child: SparkPlan)
    extends EvalPythonExec with PythonSQLMetrics {
  private[this] val job = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)

  protected override def evaluate(
      functions: Seq[ChainedPythonFunctions],
      offsets: Array[Array[Int]],
      rows: Iterator[InternalRow],
      schema: StructType,
      context: TaskContext): Iterator[InternalRow] = {
    val runner = new PythonUDFRunner(
      functions.map(RowEval.prepared), PythonEvalType.SQL_BATCHED_UDF, offsets, pythonMetrics, job)
    val replies = runner.compute(RowEval.arguments(rows, schema, bytes = false), context.partitionId(), context)
    RowEval.results(replies, udfs, pythonMetrics("pythonNumRowsReceived"))
  }

  protected override def withNewChildInternal(newChild: SparkPlan): RowEvalPythonExec = copy(child = newChild)
}
