package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Where rows are written to, as segments of `docs/row-format.md`. Each method begins to write them, and may be called once. */
public final class RowSink {
  private final OutputStream out;
  private final StructType schema;
  private final Compression compression;
  private final boolean tuples;
  private final UnaryOperator<Field> marked;

  private RowSink(
      OutputStream out, StructType schema, Compression compression, boolean tuples, UnaryOperator<Field> marked) {
    this.out = out;
    this.schema = schema;
    this.compression = compression;
    this.tuples = tuples;
    this.marked = marked;
  }

  /** To a stream, which the writer closes, in few large pieces. */
  public static RowSink to(OutputStream out) {
    return new RowSink(out, null, null, false, UnaryOperator.identity());
  }

  /** Have columns of these types. Else they are of what the first 256 rows hold. */
  public RowSink as(StructType schema) {
    return new RowSink(out, schema, compression, tuples, marked);
  }

  /** Whether there are columns for all types of a schema, which are neither too many nor nested too deep. */
  public static boolean takes(StructType schema) {
    try {
      List<Field> fields = new ArrayList<>();
      for (StructField each : schema.fields()) {
        fields.add(SparkTypes.field(each.name(), each.dataType(), each.name()));
      }
      Schema.admit(fields);
      return true;
    } catch (HeadraceException refused) {
      return false;
    }
  }

  /** Have buffers be compressed. */
  public RowSink compressed(Compression compression) {
    return new RowSink(out, schema, compression, tuples, marked);
  }

  /** Have Python read rows as tuples, whose values have places and no names. Those that are arrays it always does. */
  public RowSink asTuples() {
    return new RowSink(out, schema, compression, true, marked);
  }

  /**
   * Have Python read values as PySpark makes them: a {@code TIMESTAMP} is what the clock of the reader shows, without a zone.
   *
   * @param bytearrays whether binary values are such, instead of bytes
   */
  public RowSink asPySpark(boolean bytearrays) {
    return new RowSink(out, schema, compression, tuples, field -> ofPySpark(field, bytearrays));
  }

  private static Field ofPySpark(Field field, boolean bytearrays) {
    List<Field> children = new ArrayList<>();
    field.children.forEach(child -> children.add(ofPySpark(child, bytearrays)));
    if (field.type.kind == ArrowType.Kind.TIMESTAMP && field.type.zone != null) {
      return field.with(Field.PY, "local");
    } else if (field.type.kind == ArrowType.Kind.BINARY && bytearrays) {
      return field.with(Field.PY, "bytearray");
    }
    return field.of(children);
  }

  /** Rows that are arrays of their values, as {@link RowSource#arrays} gives them. Python reads them as tuples. */
  public RowWriter<Object[]> arrays() throws HeadraceException {
    return new RowWriter<>(out, Object[].class, schema, compression, true, marked);
  }

  /** Spark's external rows. Without a schema, that of the first one is taken. */
  public RowWriter<Row> rows() throws HeadraceException {
    return new RowWriter<>(out, Row.class, schema, compression, tuples, marked);
  }

  /** Spark's internal rows, for which a schema is needed. They may be changed once they were written. */
  public RowWriter<InternalRow> internalRows() throws HeadraceException {
    if (schema == null) {
      throw new HeadraceException("INVALID_ARGUMENT", "internal rows do not tell their types: give a schema", "");
    }
    return new RowWriter<>(out, InternalRow.class, schema, compression, tuples, marked);
  }
}
