package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.SparkStrategy
import org.apache.spark.sql.catalyst.plans.logical.BatchEvalPython

/** Plans Python UDFs that Spark would send pickled rows to. */
private[headrace] object RowStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case BatchEvalPython(udfs, results, child) if udfs.forall(RowEval.carries) =>
      Seq(RowEvalPythonExec(udfs, results, planLater(child)))
    case _ => Nil
  }
}
