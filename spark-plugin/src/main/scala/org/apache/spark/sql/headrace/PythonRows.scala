package org.apache.spark.sql.headrace

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import headrace.spark.rows.RowSource
import net.razorvine.pickle.Unpickler
import org.apache.spark.ContextAwareIterator
import org.apache.spark.TaskContext
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.api.python.PythonRDD
import org.apache.spark.api.python.SerDeUtil
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.types.StructType

/** What Python calls in the place of what Spark has for it. Where a frame has columns that are not carried, it gets null. */
object PythonRows {
  /**
   * Have the Python UDFs of a session get rows.
   *
   * @param counts the accumulator of what their workers write and read
   */
  def install(session: Session, counts: String): Unit = {
    uninstall(session, last = false)
    session.experimental.extraStrategies :+= RowStrategy
    RowEval.setDaemon()
    RowEval.setCounts(counts)
  }

  /** @param last whether no other session has them get rows */
  def uninstall(session: Session, last: Boolean): Unit = {
    session.experimental.extraStrategies = session.experimental.extraStrategies.filterNot(_ == RowStrategy)
    if (last) RowEval.forgetDaemon()
  }

  def collect(frame: Frame): Array[Any] = serve(frame, "collectToPython", _.executeCollect())

  def tail(frame: Frame, rows: Int): Array[Any] = serve(frame, "tailToPython", _.executeTail(rows))

  def iterate(frame: Frame, prefetch: Boolean): Array[Any] =
    if (!RowTypes.carries(frame.schema)) null
    else SQLExecution.withNewExecutionId(frame.queryExecution) {
      PythonRDD.toLocalIteratorAndServe(rdd(frame).rdd, prefetch)
    }

  def rdd(frame: Frame): JavaRDD[Array[Byte]] = {
    val schema = frame.schema
    if (!RowTypes.carries(schema)) return null
    val bytes = binaryAsBytes(frame)
    frame.queryExecution.toRdd.mapPartitions { rows =>
      // Threads of Spark that feed Python go on after a task has ended.
      new RowPickler(new ContextAwareIterator(TaskContext.get(), rows), schema, bytes, places = false)
    }.toJavaRDD()
  }

  /** What Python has passed on, as Spark's unpickler gives it. */
  def values(pickles: JavaRDD[Array[Byte]]): JavaRDD[Any] =
    pickles.rdd.mapPartitions { each =>
      SerDeUtil.initialize()
      val unpickler = new Unpickler
      each.flatMap { pickle =>
        val rows = PickledRows.rowsIn(pickle)
        if (rows != null) new RowIterator(RowSource.of(rows).values())
        else unpickler.loads(pickle) match {
          case array: Array[Any] => array.iterator
          case list => list.asInstanceOf[java.util.ArrayList[Any]].asScala.iterator
        }
      }
    }.toJavaRDD()

  /** A frame of rows that are of a schema. What is pickled otherwise is a list of none, which have no columns. */
  def frame(session: Session, pickles: JavaRDD[Array[Byte]], schema: String): Frame = {
    val columns = DataType.fromJson(schema).asInstanceOf[StructType]
    val rows = pickles.rdd.mapPartitions(_.flatMap { pickle =>
      val rows = PickledRows.rowsIn(pickle)
      if (rows == null) Iterator.empty
      else new RowIterator(RowSource.of(rows).as(columns).internalRows())
    })
    session.internalCreateDataFrame(rows, columns)
  }

  /** What fails while rows are served, Spark does not tell Python, to which it looks like the end of them. */
  private final class Served(pickles: Iterator[Array[Byte]]) extends Iterator[Array[Byte]] {
    private var failed = false

    override def hasNext: Boolean = !failed && pickles.hasNext

    override def next(): Array[Byte] =
      try pickles.next()
      catch {
        case NonFatal(error) =>
          failed = true
          PickledRows.failure(error.toString)
      }
  }

  private def serve(frame: Frame, name: String, rows: SparkPlan => Array[InternalRow]): Array[Any] = {
    val schema = frame.schema
    if (!RowTypes.carries(schema)) return null
    val query = frame.queryExecution
    SQLExecution.withNewExecutionId(query, Some(name)) {
      QueryExecution.withInternalError(s"""The "$name" action failed.""") {
        query.executedPlan.resetMetrics()
        val pickled = new RowPickler(rows(query.executedPlan).iterator, schema, binaryAsBytes(frame), places = false)
        PythonRDD.serveIterator(new Served(pickled), "serve-DataFrame")
      }
    }
  }
}
