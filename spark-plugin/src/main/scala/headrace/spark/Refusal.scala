package headrace.spark

import org.apache.spark.sql.AnalysisException

/** What is refused before any task runs, as Spark refuses what it cannot analyse: such an error has a class of its own in
  * Python, and where SQL names files by their path Spark lets no other through.
  */
class Refusal(message: String, cause: Throwable) extends AnalysisException(message, cause = Option(cause))

/** Of a service: `refused` has the code. */
class HeadraceRefusal(message: String, val refused: HeadraceException) extends Refusal(message, refused)
