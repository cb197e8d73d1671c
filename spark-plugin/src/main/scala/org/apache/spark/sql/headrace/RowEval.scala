package org.apache.spark.sql.headrace

import java.util.HashMap

import scala.collection.JavaConverters._

import headrace.spark.rows.RowSource
import net.razorvine.pickle.Unpickler
import org.apache.spark.SparkEnv
import org.apache.spark.api.python.ChainedPythonFunctions
import org.apache.spark.api.python.PythonFunction
import org.apache.spark.api.python.SimplePythonFunction
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.types.StructField
import org.apache.spark.sql.types.StructType

/** What the plans of Python UDFs have in common that send rows instead of Spark's pickles. */
private[headrace] object RowEval {
  private val Daemon = "headrace.spark.daemon"
  private val DaemonSetting = "spark.python.daemon.module"

  /** Workers of these functions are none that were started for others. It tells them where they are counted. */
  private val Mark = "HEADRACE_ROWS"
  private val Counts = "spark.headrace.counts"

  /** Whether the arguments of a UDF, and of those within it, can be sent. */
  def carries(udf: PythonUDF): Boolean = udf.children match {
    case Seq(inner: PythonUDF) => carries(inner)
    case arguments => arguments.nonEmpty && arguments.forall((each: Expression) => RowTypes.carries(each.dataType))
  }

  /**
   * Have functions run where their results come as rows, too. Spark starts the workers of a JVM by the setting that is there
   * when they are asked for first, and keeps them apart by their variables. A daemon that was set stays; its workers reply with
   * pickles.
   */
  def prepared(functions: ChainedPythonFunctions): ChainedPythonFunctions = {
    setDaemon()
    ChainedPythonFunctions(functions.funcs.map(marked))
  }

  def setDaemon(): Unit = {
    val conf = SparkEnv.get.conf
    if (!conf.contains(DaemonSetting)) conf.set(DaemonSetting, Daemon)
  }

  def setCounts(accumulator: String): Unit = SparkEnv.get.conf.set(Counts, accumulator)

  def forgetDaemon(): Unit = {
    val conf = SparkEnv.get.conf
    if (conf.get(DaemonSetting, "") == Daemon) conf.remove(DaemonSetting)
  }

  private def marked(function: PythonFunction): PythonFunction = function match {
    case simple: SimplePythonFunction =>
      val variables = new HashMap[String, String](simple.envVars)
      // Functions made since then have it; of others, executors of a cluster know no accumulator.
      variables.putIfAbsent(Mark, SparkEnv.get.conf.get(Counts, ""))
      simple.copy(envVars = variables)
    case other => other
  }

  def arguments(rows: Iterator[InternalRow], schema: StructType, bytes: Boolean): Iterator[Array[Byte]] =
    new RowPickler(rows, schema, bytes, places = true)

  /** The results that workers reply, which are rows or pickled. Each is good until the next one. */
  def results(replies: Iterator[Array[Byte]], udfs: Seq[PythonUDF], received: SQLMetric): Iterator[InternalRow] = {
    val unpickler = new Unpickler
    val single = udfs.length == 1
    val fields = udfs.map(udf => StructField("", udf.dataType, udf.nullable))
    val fromJava = EvaluatePython.makeFromJava(if (single) udfs.head.dataType else StructType(fields))
    val row = new GenericInternalRow(1)
    val values = replies.flatMap { reply =>
      val rows = PickledRows.rowsIn(reply)
      if (rows == null) unpickler.loads(reply).asInstanceOf[java.util.ArrayList[Any]].asScala.iterator
      else new RowIterator(RowSource.of(rows).values())
    }
    values.map { value =>
      received += 1
      if (single) {
        row(0) = fromJava(value)
        row
      } else fromJava(value).asInstanceOf[InternalRow]
    }
  }
}
