package headrace.spark

import org.apache.spark.sql.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.functions.{array, col}

import java.util.{List => JList, Map => JMap}
import scala.collection.JavaConverters._

case class Numbers(a: Long, b: Long, c: Long, d: Long) {
  def sum: Long = a + b + c + d
}

/** One sum over values of files, by what Spark has for values of a class; for the benchmarks.
  *
  * A schema is in SQL, or empty where files tell it.
  */
object Faces {
  def dataset(session: SparkSession, format: String, schema: String, options: JMap[String, String], path: String): Long = {
    import session.implicits._
    read(session, format, schema, options, path).as[Numbers].map(_.sum).reduce(_ + _)
  }

  def rdd(session: SparkSession, format: String, schema: String, options: JMap[String, String], path: String): Long = {
    import session.implicits._
    read(session, format, schema, options, path).as[Numbers].rdd.map(_.sum).reduce(_ + _)
  }

  def arrowRDD(session: SparkSession, options: JMap[String, String], path: String): Long = {
    import session.implicits._
    session.sparkContext.arrowRDD(path, options.asScala.toMap).as[Numbers].map(_.sum).reduce(_ + _)
  }

  def someOfDataset(session: SparkSession, format: String, columns: JList[String], path: String): Long = {
    import session.implicits._
    some(session, format, columns, path).map(_.sum).reduce(_ + _)
  }

  def someOfRDD(session: SparkSession, format: String, columns: JList[String], path: String): Long =
    some(session, format, columns, path).rdd.map(_.sum).reduce(_ + _)

  private def some(
      session: SparkSession, format: String, columns: JList[String], path: String): Dataset[Array[Long]] = {
    import session.implicits._
    session.read.format(format).load(path).select(array(columns.asScala.map(col).toSeq: _*)).as[Array[Long]]
  }

  private def read(
      session: SparkSession, format: String, schema: String, options: JMap[String, String], path: String): DataFrame = {
    val reader = session.read.format(format).options(options)
    (if (schema.isEmpty) reader else reader.schema(schema)).load(path)
  }
}
