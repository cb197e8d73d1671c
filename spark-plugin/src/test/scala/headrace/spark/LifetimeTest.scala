package headrace.spark

import java.nio.file.Path
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskStart}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.junit.jupiter.api.{AfterAll, BeforeAll, Test, TestInstance}
import org.junit.jupiter.api.Assertions.{assertEquals, assertThrows, assertTrue}
import org.junit.jupiter.api.TestInstance.Lifecycle
import org.junit.jupiter.api.io.TempDir

private object Slow {
  /** Reads a row, and takes so long for many rows that tasks are killed before they end. */
  def read(row: Row): Unit = if (row.getLong(0) % 1000 == 0) Thread.sleep(5)
}

/** Takes a batch of a task, and reads it when it is told to. */
private class Later(batches: Iterator[ColumnarBatch]) extends Thread {
  val taken, told = new CountDownLatch(1)
  @volatile var texts: Seq[String] = Nil

  override def run(): Unit = {
    val batch = try batches.next() finally taken.countDown()
    told.await()
    texts = (0 until batch.numRows).map(batch.column(1).getUTF8String(_).toString)
  }
}

private object Later {
  val all = new ConcurrentLinkedQueue[Later]
}

/** Nothing is left of native memory, however a task ends. `headrace.killed` says how many are killed. */
@TestInstance(Lifecycle.PER_CLASS)
class LifetimeTest {
  private val killed = Integer.getInteger("headrace.killed", 50)

  /** What may stay, once for all readers: tables that libraries of compression keep for a thread, and the like. */
  private val kept = 1L << 20

  private var session: SparkSession = _
  private var path: String = _

  @BeforeAll
  def begin(@TempDir temporary: Path): Unit = {
    session = SparkSession.builder()
      .master("local[2]")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.files.maxPartitionBytes", "2m")
      .getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    path = temporary.resolve("rows").toString
    session.range(0, 400000, 1, 2).selectExpr("id", "concat('a text of some length ', id) AS text").write.parquet(path)
  }

  @AfterAll
  def end(): Unit = session.stop()

  private def read = session.read.option("batchRows", 1000).arrow(path)

  /** Runs what leaves nothing behind. */
  private def leavesNothing(run: => Unit): Unit = {
    read.foreach((_: Row) => ()) // what is kept once, is kept now
    awaitNone()
    val before = NativeMemory.bytes
    run
    awaitNone()
    val more = NativeMemory.bytes - before
    assertTrue(more < kept, s"$more bytes more than before")
  }

  private def awaitNone(): Unit = {
    val deadline = System.nanoTime + TimeUnit.SECONDS.toNanos(30)
    while (NativeMemory.readers > 0 && System.nanoTime < deadline) Thread.sleep(10)
    assertEquals(0, NativeMemory.readers)
  }

  @Test
  def killedTasksLeaveNothing(): Unit = leavesNothing {
    val starts = new ConcurrentLinkedQueue[Long]
    val listener = new SparkListener {
      override def onTaskStart(start: SparkListenerTaskStart): Unit = starts.add(start.taskInfo.taskId)
    }
    session.sparkContext.addSparkListener(listener)
    try {
      var ended = 0
      while (ended < killed) {
        val job = read.rdd.map(Slow.read(_)).countAsync()
        // Tasks are killed at any time from their start on; Spark tries them again until the job is cancelled.
        for (_ <- 1 to 2) {
          val wait = System.nanoTime + TimeUnit.SECONDS.toNanos(30)
          while (starts.isEmpty && System.nanoTime < wait) Thread.sleep(1)
          Option(starts.poll()).foreach { task =>
            Thread.sleep(ended % 7 * 5)
            if (session.sparkContext.killTaskAttempt(task, ended % 2 == 0, "as the test wants")) ended += 1
          }
        }
        job.cancel()
        awaitNone()
        starts.clear()
      }
    } finally session.sparkContext.removeSparkListener(listener)
  }

  @Test
  def cancelledQueriesLeaveNothing(): Unit = leavesNothing {
    for (i <- 1 to 5) {
      val begun = new CountDownLatch(1)
      val listener = new SparkListener {
        override def onTaskStart(start: SparkListenerTaskStart): Unit = begun.countDown()
      }
      session.sparkContext.addSparkListener(listener)
      val group = s"cancelled-$i"
      val query = new Thread(() => {
        session.sparkContext.setJobGroup(group, group, interruptOnCancel = i % 2 == 0)
        try read.foreach(Slow.read(_)) catch { case _: Exception => () }
      })
      query.start()
      assertTrue(begun.await(30, TimeUnit.SECONDS))
      Thread.sleep(20)
      session.sparkContext.cancelJobGroup(group)
      query.join()
      session.sparkContext.removeSparkListener(listener)
    }
  }

  @Test
  def limitsLeaveNothing(): Unit = leavesNothing {
    for (_ <- 1 to 20) assertEquals(3, read.limit(3).collect().length)
    assertEquals(5, read.orderBy("id").limit(5).collect().length)
  }

  /** As do those that feed a script or a pipe: nobody waits for them. */
  @Test
  def whoReadsBeyondTheTaskKeepsItsBatch(): Unit = leavesNothing {
    val before = NativeMemory.bytes
    val scan = read.select("id", "text").queryExecution.executedPlan.collectFirst { case p if p.supportsColumnar => p }.get
    val ended = scan.executeColumnar().mapPartitions { batches =>
      batches.next() // opens the reader, for which Spark asks for the task
      val later = new Later(batches)
      later.start()
      later.taken.await()
      Later.all.add(later)
      Iterator.empty: Iterator[Int]
    }
    assertEquals(0, ended.count())
    awaitNone()
    assertTrue(NativeMemory.bytes - before >= Later.all.size * 30000L)
    Later.all.forEach { later =>
      later.told.countDown()
      later.join()
      assertEquals(1000, later.texts.length)
      assertTrue(later.texts.forall(_.matches("a text of some length \\d+")))
    }
    Later.all.clear()
    val deadline = System.nanoTime + TimeUnit.SECONDS.toNanos(30)
    while (NativeMemory.bytes > before + kept / 2 && System.nanoTime < deadline) {
      System.gc()
      Thread.sleep(10)
    }
  }

  @Test
  def errorsOfLaterOperatorsLeaveNothing(): Unit = leavesNothing {
    for (_ <- 1 to 5) {
      assertThrows(
        classOf[Exception],
        () => { read.selectExpr("raise_error(concat('no ', text))").collect(); () })
    }
  }
}
