package headrace.spark

import java.nio.file.{Files, Path}

import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.junit.jupiter.api.{AfterAll, BeforeAll, Test, TestInstance}
import org.junit.jupiter.api.Assertions.{assertEquals, assertThrows, assertTrue}
import org.junit.jupiter.api.TestInstance.Lifecycle
import org.junit.jupiter.api.io.TempDir

case class Person(name: String, age: Long, height: Option[Double])

/** Gives a batch with the length of its files in place of their rows. */
class LengthsFactory(columns: Int) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("batches only")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new PartitionReader[ColumnarBatch] {
      private var given = false
      private val vectors = Array.fill(columns)(new OnHeapColumnVector(1, org.apache.spark.sql.types.LongType))

      override def next(): Boolean = {
        val first = !given
        given = true
        first
      }

      override def get(): ColumnarBatch = {
        vectors.foreach(_.putLong(0, 7L))
        new ColumnarBatch(vectors.toArray, 1)
      }

      override def close(): Unit = vectors.foreach(_.close())
    }
}

@TestInstance(Lifecycle.PER_CLASS)
class ArrowRDDTest {
  private var session: SparkSession = _
  private var folder: Path = _

  @BeforeAll
  def begin(@TempDir temporary: Path): Unit = {
    folder = temporary
    session = SparkSession.builder()
      .master("local[2]")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toString)
      .getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    val s = session
    import s.implicits._
    val people = (0 until 1000).map(i => Person(s"p$i", i, if (i % 3 == 0) None else Some(i / 2.0)))
    people.toDS().repartition(1).sortWithinPartitions("age").write
      .option("parquet.block.size", 2000).parquet(at("people"))
    people.toDS().selectExpr("*", "age % 4 AS rest").repartition(2).write.partitionBy("rest").parquet(at("parts"))
  }

  @AfterAll
  def end(): Unit = session.stop()

  private def at(name: String) = folder.resolve(name).toString

  @Test
  def theReaderHasAMethodOfItsOwn(): Unit =
    assertEquals(session.read.parquet(at("people")).collect().toSeq, session.read.arrow(at("people")).collect().toSeq)

  @Test
  def aDatasetIsOfAClass(): Unit = {
    val s = session
    import s.implicits._
    val found = session.read.arrow(at("people")).as[Person].filter(_.age > 997).map(_.name).collect()
    assertEquals(Seq("p998", "p999"), found.toSeq)
  }

  @Test
  def anRDDIsOfRows(): Unit = {
    val rows = session.sparkContext.arrowRDD(at("people"))
    assertEquals(session.read.parquet(at("people")).collect().toSeq, rows.collect().toSeq)
    assertTrue(rows.filter(_.getAs[String]("name") == "p0").first().isNullAt(2))
  }

  @Test
  def anRDDIsOfAClass(): Unit = {
    val s = session
    import s.implicits._
    val people = session.sparkContext.arrowRDD(at("people")).as[Person]
    assertEquals((958 to 999).map(i => s"p$i"), people.filter(_.age > 957).map(_.name).collect().toSeq)
    assertEquals(Some(0.5), people.filter(_.age == 1).first().height)
  }

  @Test
  def rowsHaveListsMapsAndStructs(): Unit = {
    session.sql(
      "SELECT id, array(id, NULL) AS list, map('k', id) AS map, struct(id AS n, array(struct(id AS m)) AS inner) AS struct " +
        "FROM range(0, 5, 1, 1)").write.parquet(at("nested"))
    assertEquals(
      session.read.parquet(at("nested")).collect().toSeq, session.sparkContext.arrowRDD(at("nested")).collect().toSeq)
  }

  @Test
  def rowsOutliveTheirBatches(): Unit = {
    val rows = session.sparkContext.arrowRDD(at("people"), Map("batchRows" -> "10")).collect()
    assertEquals((0L until 1000L), rows.map(_.getLong(1)).toSeq)
  }

  @Test
  def columnsOfFoldersAreThere(): Unit = {
    val rows = session.sparkContext.arrowRDD(at("parts"))
    assertTrue(rows.map(row => row.getLong(1) % 4 == row.getAs[Int]("rest")).reduce(_ && _))
    assertEquals(1000L, rows.count())
  }

  @Test
  def thereAreAsManyPartitionsAsAskedFor(): Unit =
    for (path <- Seq("people", "parts"); number <- Seq(1, 3, 100)) {
      val rows = session.sparkContext.arrowRDD(at(path), numPartitions = number)
      assertEquals(number, rows.getNumPartitions)
      assertEquals((0L until 1000L), rows.map(_.getLong(1)).collect().sorted.toSeq)
    }

  @Test
  def aPartitionerOfOnesOwn(): Unit = {
    val rows = session.sparkContext.arrowRDD(at("parts"), partitioner = Some(_.map(Seq(_))))
    assertEquals(session.read.parquet(at("parts")).inputFiles.length, rows.getNumPartitions)
    assertEquals(1000L, rows.count())
  }

  @Test
  def aFactoryOfOnesOwn(): Unit = {
    val s = session
    import s.implicits._
    session.range(10).write.parquet(at("ids"))
    val rows = session.sparkContext.arrowRDD(at("ids"), datasetFactory = Some(s => new LengthsFactory(s.length)))
    assertTrue(rows.as[Long].collect().forall(_ == 7L))
  }

  @Test
  def nothingIsReadBeforeItIsAskedFor(): Unit = {
    session.range(10).repartition(1).write.parquet(at("gone"))
    val rows = session.sparkContext.arrowRDD(at("gone"))
    Files.list(folder.resolve("gone")).filter(_.toString.endsWith(".parquet")).forEach(file => Files.delete(file))
    val failure = assertThrows(classOf[SparkException], () => rows.count())
    assertTrue(failure.getMessage.contains(at("gone")), failure.getMessage)
  }
}
