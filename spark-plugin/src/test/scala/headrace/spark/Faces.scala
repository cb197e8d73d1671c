package headrace.spark

import org.apache.spark.sql.SparkSession

case class Numbers(a: Long, b: Long, c: Long, d: Long) {
  def sum: Long = a + b + c + d
}

/** One sum over all values of Parquet files, by what Spark has for values of a class; for the benchmarks. */
object Faces {
  def dataset(session: SparkSession, format: String, path: String): Long = {
    import session.implicits._
    session.read.format(format).load(path).as[Numbers].map(_.sum).reduce(_ + _)
  }

  def sparksRDD(session: SparkSession, path: String): Long = {
    import session.implicits._
    session.read.parquet(path).as[Numbers].rdd.map(_.sum).reduce(_ + _)
  }

  def arrowRDD(session: SparkSession, path: String): Long = {
    import session.implicits._
    session.sparkContext.arrowRDD(path).as[Numbers].map(_.sum).reduce(_ + _)
  }
}
