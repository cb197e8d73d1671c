package headrace.spark;

import java.lang.ref.Cleaner;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;

/** A batch in native memory: a struct in Arrow's C data interface, by its address. */
final class ArrowBatch {
  /** Where `struct ArrowArray` has its length and its children. */
  private static final int LENGTH = 0;

  private static final int CHILDREN = 48;

  private static final Cleaner CLEANER = Cleaner.create();

  private final long address;
  private final Thread reader = Thread.currentThread();

  /** The batch is read by this thread alone, until it is {@link #free freed}. */
  ArrowBatch(long address) {
    this.address = address;
  }

  int rows() {
    return Math.toIntExact(Platform.getLong(null, address + LENGTH));
  }

  /** The columns, in the order of the schema, in an array of {@code size} that has room for more. */
  ColumnVector[] columns(StructType schema, int size) {
    ColumnVector[] columns = new ColumnVector[size];
    long children = Platform.getLong(null, address + CHILDREN);
    for (int i = 0; i < schema.length(); i++) {
      columns[i] = ArrowVector.of(schema.apply(i).dataType(), Platform.getLong(null, children + 8L * i), this);
    }
    return columns;
  }

  /**
   * Ends the batch, once.
   *
   * <p>What feeds a script or a pipe is a thread that is not waited for where the task ends: the batch that it reads is
   * left to it, and freed when no column of it is held.
   */
  void free() {
    if (reader == Thread.currentThread() || !reader.isAlive()) {
      free(address);
    } else {
      long left = address;
      CLEANER.register(this, () -> free(left));
    }
  }

  private static native void free(long batch);
}
