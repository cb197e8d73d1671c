package headrace.spark

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.{DataFrame, SaveMode, SparkSession, SQLContext}
import org.apache.spark.sql.execution.datasources.{FileFormat, OutputWriterFactory}
import org.apache.spark.sql.execution.streaming.Source
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, RelationProvider, StreamSourceProvider}
import org.apache.spark.sql.types.StructType

/** Where Spark comes to with all that is no read of the source 'headrace': tables of its catalog, writes, streams. */
class HeadraceRefusals
    extends FileFormat with RelationProvider with CreatableRelationProvider with StreamSourceProvider {

  /** For a table of the catalog, before it is there. */
  override def createRelation(context: SQLContext, options: Map[String, String]): BaseRelation =
    throw new Refusal(
      "the source 'headrace' makes no tables of a catalog, which would show the token among their options to all: "
        + "take CREATE TEMPORARY VIEW ... USING headrace OPTIONS (...), or createOrReplaceTempView of the frame",
      null)

  /** For rows to write, of a new table of the catalog, too. */
  override def createRelation(
      context: SQLContext, mode: SaveMode, options: Map[String, String], rows: DataFrame): BaseRelation = throw readOnly

  override def prepareWrite(
      session: SparkSession, job: Job, options: Map[String, String], schema: StructType): OutputWriterFactory =
    throw readOnly

  override def sourceSchema(
      context: SQLContext, schema: Option[StructType], provider: String, options: Map[String, String])
      : (String, StructType) = throw noStream

  override def createSource(
      context: SQLContext, path: String, schema: Option[StructType], provider: String, options: Map[String, String])
      : Source = throw noStream

  override def inferSchema(
      session: SparkSession, options: Map[String, String], files: Seq[FileStatus]): Option[StructType] = None

  private def readOnly = new UnsupportedOperationException(
    "the source 'headrace' reads feature groups, and writes none: give the frame to insert() of the feature group in Python")

  private def noStream = new UnsupportedOperationException(
    "the source 'headrace' gives no streams: read it with spark.read, again for what was committed since")
}
