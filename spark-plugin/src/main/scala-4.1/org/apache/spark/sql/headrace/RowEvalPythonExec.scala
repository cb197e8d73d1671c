package org.apache.spark.sql.headrace

import org.apache.spark.JobArtifactSet
import org.apache.spark.TaskContext
import org.apache.spark.api.python.ChainedPythonFunctions
import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.EvalPythonEvaluatorFactory
import org.apache.spark.sql.execution.python.EvalPythonExec
import org.apache.spark.sql.execution.python.EvalPythonExec.ArgumentMetadata
import org.apache.spark.sql.execution.python.PythonSQLMetrics
import org.apache.spark.sql.execution.python.PythonUDFWithNamedArgumentsRunner
import org.apache.spark.sql.types.StructType

/** Python UDFs that get rows, and reply with them. */
private[headrace] case class RowEvalPythonExec(udfs: Seq[PythonUDF], resultAttrs: Seq[Attribute], child: SparkPlan)
    extends EvalPythonExec with PythonSQLMetrics {
  private[this] val job = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
  private[this] val logged =
    Option(session).filter(_.sessionState.conf.pythonWorkerLoggingEnabled).map(_.sessionUUID)

  override protected def evaluatorFactory: EvalPythonEvaluatorFactory =
    new RowEvaluatorFactory(
      child.output, udfs, output, pythonMetrics, job, logged, conf.pythonUDFProfiler, conf.pysparkBinaryAsBytes)

  override protected def withNewChildInternal(newChild: SparkPlan): RowEvalPythonExec = copy(child = newChild)
}

private[headrace] class RowEvaluatorFactory(
    childOutput: Seq[Attribute],
    udfs: Seq[PythonUDF],
    output: Seq[Attribute],
    metrics: Map[String, SQLMetric],
    job: Option[String],
    session: Option[String],
    profiler: Option[String],
    bytes: Boolean)
    extends EvalPythonEvaluatorFactory(childOutput, udfs, output) {
  override protected def evaluate(
      functions: Seq[(ChainedPythonFunctions, Long)],
      arguments: Array[Array[ArgumentMetadata]],
      rows: Iterator[InternalRow],
      schema: StructType,
      context: TaskContext): Iterator[InternalRow] = {
    val prepared = functions.map { case (chained, result) => (RowEval.prepared(chained), result) }
    val runner = new PythonUDFWithNamedArgumentsRunner(
      prepared, PythonEvalType.SQL_BATCHED_UDF, arguments, metrics, job, session, profiler)
    val replies = runner.compute(RowEval.arguments(rows, schema, bytes), context.partitionId(), context)
    RowEval.results(replies, udfs, metrics("pythonNumRowsReceived"))
  }
}
