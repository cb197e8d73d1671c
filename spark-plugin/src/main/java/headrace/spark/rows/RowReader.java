package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Rows of a stream, one by one, in their order. {@code T} is what a row is. */
public final class RowReader<T> implements PartitionReader<T> {
  /** Rows that are made at a time. */
  private static final int BLOCK = 1024;

  /** Values of a block, so that one of many columns is not too large. */
  private static final int VALUES = 1 << 16;

  private final Segments segments;
  private final Shape<T> shape;
  private T[] rows;

  /** Of the batch. */
  private int made;

  private int count;
  private int next;

  /** What is made of the rows of a batch. */
  interface Shape<T> {
    /** Room for rows. */
    T[] room(int rows);

    /** A batch begins. */
    void batch(Segments segments) throws HeadraceException;

    /** Make rows from one up to another, and put them at the start of {@code out}. */
    void make(int from, int to, T[] out) throws HeadraceException;
  }

  RowReader(Segments segments, Shape<T> shape) {
    this.segments = segments;
    this.shape = shape;
    rows = shape.room(BLOCK);
  }

  @Override
  public boolean next() throws IOException {
    next++;
    if (next < count) {
      return true;
    }
    try {
      return block();
    } catch (IOException error) {
      count = 0;
      made = 0;
      throw segments.failed(error);
    }
  }

  private boolean block() throws IOException {
    while (made == segments.rows()) {
      made = 0;
      count = 0;
      if (!segments.next()) {
        return false;
      }
      shape.batch(segments);
    }
    int most = Math.max(1, Math.min(BLOCK, VALUES / Math.max(1, segments.columns().length)));
    count = Math.min(most, segments.rows() - made);
    shape.make(made, made + count, rows);
    made += count;
    next = 0;
    return true;
  }

  /** The row that {@code next} went to. */
  @Override
  public T get() {
    return rows[next];
  }

  @Override
  public void close() throws IOException {
    segments.close();
  }
}
