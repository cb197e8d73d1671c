package headrace.spark.rows;

import java.io.InputStream;
import java.util.Objects;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Where rows are read from: segments of `docs/row-format.md`. Each method begins to read them, as the rows that its name
 * says, and may be called once. What is read is whole: a damaged stream is a {@code HeadraceException}.
 */
public final class RowSource {
  private final Input input;
  private final StructType asked;

  private RowSource(Input input, StructType asked) {
    this.input = input;
    this.asked = asked;
  }

  /** Of a stream, which the reader closes; what is kept of it in memory is the batch that is read. */
  public static RowSource of(InputStream stream) {
    return new RowSource(new Input(Objects.requireNonNull(stream, "a stream of rows")), null);
  }

  /** Of bytes, which batches and internal rows share: they must stay as they are. */
  public static RowSource of(byte[] bytes) {
    return new RowSource(new Input(Objects.requireNonNull(bytes, "bytes of rows")), null);
  }

  /**
   * Read columns as these: by their places where rows are tuples or lists, else by their names. Integers of any width that
   * holds them, floats as doubles, and rows that do not fit the columns of the stream as far as they fit these.
   */
  public RowSource as(StructType schema) {
    return new RowSource(input, schema);
  }

  /**
   * As {@code Object[]} of values; within them {@code java.util.List}, {@code java.util.Map} and {@code Row}. A row that did not
   * fit the columns of its stream is what it was: a tuple {@code Object[]}, a list {@code List}, a dict {@code Map}, a record
   * {@code Row}; unless a schema was given, by which all are arrays.
   */
  public RowReader<Object> arrays() {
    return new RowReader<>(segments(), new ArrayShape(Nested.JAVA, asked));
  }

  /**
   * As Spark's unpickler gives what Python has pickled: tuples as {@code Object[]}, a row that is a value as this value, and
   * integers as {@code Integer} where 32 bits hold them.
   */
  public RowReader<Object> values() {
    return new RowReader<>(segments(), new ValueShape());
  }

  /** As Spark's external rows; within them {@code Seq}, {@code Map} and {@code Row}, {@code Instant} and {@code LocalDate}. */
  public RowReader<Row> rows() {
    return new RowReader<>(segments(), new RowShape(asked));
  }

  /** As Spark's internal rows. They share the buffers of their batch, and are good for as long as they are held. */
  public RowReader<InternalRow> internalRows() {
    return new RowReader<>(segments(), new InternalShape());
  }

  /** Batch by batch, as columns that share its buffers. A batch is good for as long as it is held. */
  public PartitionReader<ColumnarBatch> batches() {
    return new ColumnReader(segments());
  }

  private Segments segments() {
    return new Segments(input, asked);
  }
}
