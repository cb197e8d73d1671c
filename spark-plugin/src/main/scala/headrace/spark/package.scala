package headrace

import headrace.spark.ArrowRDD.{DatasetFactory, FilePartitioner}
import org.apache.spark.SparkContext
import org.apache.spark.sql.{DataFrame, DataFrameReader, Row, SparkSession}

/** `import headrace.spark._` gives Spark's own objects what reads files by Arrow. */
package object spark {
  implicit final class ArrowDataFrameReader(private val reader: DataFrameReader) extends AnyVal {
    /** Files, as `format("arrow")` reads them. */
    def arrow(paths: String*): DataFrame = reader.format(ArrowDataSource.Name).load(paths: _*)
  }

  implicit final class ArrowSparkContext(private val context: SparkContext) extends AnyVal {
    /** The rows of files as an RDD; `as[T]` makes them values of a class of yours.
      *
      * @param options
      *   those of `format("arrow")`
      * @param numPartitions
      *   how many there are, of about as many bytes each; as Spark plans them if it is 0
      * @param partitioner
      *   puts the parts of files into partitions, instead
      * @param datasetFactory
      *   reads the files, instead of the native part
      */
    def arrowRDD(
        path: String,
        options: Map[String, String] = Map.empty,
        numPartitions: Int = 0,
        partitioner: Option[FilePartitioner] = None,
        datasetFactory: Option[DatasetFactory] = None
    ): ArrowRDD[Row] = {
      val session = SparkSession.builder().config(context.getConf).getOrCreate()
      ArrowRDD(session, path, options, numPartitions, partitioner, datasetFactory)
    }
  }
}
