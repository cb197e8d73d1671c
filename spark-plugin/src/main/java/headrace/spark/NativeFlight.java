package headrace.spark;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * One part of a prepared read, whose rows come from a service batch by batch; and what else is asked of a service.
 *
 * <p>A batch is freed by the next {@link #next} and by {@link #close}.
 */
final class NativeFlight implements AutoCloseable {
  static {
    NativeLibrary.load();
  }

  /** What `next` gives where there is no batch. */
  private static final long END = 0;
  private static final long WAIT = -1;

  private final StructType schema;
  private final TaskContext task = TaskContext.get();
  private long handle;
  private ArrowBatch batch;

  /** What {@code request}, a {@code PartRequest} of `rows.rs`, asks for. Nothing is asked of the service yet. */
  NativeFlight(String request, StructType schema) throws IOException {
    this.schema = schema;
    this.handle = open(request);
  }

  /** Has a read prepared: a {@code ReadRequest} of `read.rs` gives what its {@code to_json} does. */
  static native String prepare(String request) throws IOException;

  /** The answer to an {@code ActionRequest} of `read.rs`. */
  static native String ask(String request) throws IOException;

  /** Goes to the next batch; false after the last. A task that is killed meanwhile ends here. */
  boolean next() throws IOException {
    do {
      if (task != null) {
        task.killTaskIfInterrupted();
        // Whoever feeds Python is joined at the task's end, before this is closed.
        if (task.isCompleted()) {
          throw new InterruptedIOException("the task has ended, so that nobody wants more rows of the service");
        }
      }
    } while (!step());
    return batch != null;
  }

  ColumnarBatch get() {
    return new ColumnarBatch(batch.columns(schema, schema.length()), batch.rows());
  }

  /** Ends the call, and with it the query at the service. Any thread may do so, and more than once. */
  @Override
  public synchronized void close() {
    letGo();
    if (handle != 0) {
      close(handle);
      handle = 0;
    }
  }

  /** False where neither a batch nor the end has come yet. */
  private synchronized boolean step() throws IOException {
    if (handle == 0) {
      throw new IOException("the rows of the service are read no further: their reader is closed");
    }
    letGo();
    long found = next(handle);
    batch = found == END || found == WAIT ? null : new ArrowBatch(found);
    return found != WAIT;
  }

  private void letGo() {
    if (batch != null) {
      batch.free();
      batch = null;
    }
  }

  private static native long open(String request) throws IOException;

  private static native long next(long handle) throws IOException;

  private static native void close(long handle);
}
