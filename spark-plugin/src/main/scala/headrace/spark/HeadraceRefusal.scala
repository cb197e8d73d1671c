package headrace.spark

import org.apache.spark.sql.AnalysisException

/** What a service has refused before any task ran, as Spark refuses what it cannot analyse: only such errors have a class
  * of their own in Python.
  */
class HeadraceRefusal(message: String, val refused: HeadraceException)
    extends AnalysisException(message, cause = Some(refused)) {

  def this(refused: HeadraceException) = this(refused.getMessage, refused)
}
