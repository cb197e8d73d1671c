package headrace.spark.rows;

import headrace.spark.HeadraceException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;

/** Internal rows: over the columns of their batch where these hold them, else of values. */
final class InternalShape implements RowReader.Shape<InternalRow> {
  private Segments segments;
  private ColumnVector[] vectors;

  @Override
  public InternalRow[] room(int rows) {
    return new InternalRow[rows];
  }

  /** Whether columns of Spark can share those of a batch. Columns of values that tell their own types need others to fit. */
  static boolean isShared(Segments segments) throws HeadraceException {
    boolean shared = segments.rest() == null;
    for (Column column : segments.columns()) {
      if (hasVariants(column.field)) {
        shared = false;
        if (SparkTypes.hasAny(column.type)) {
          throw new HeadraceException(
              "SCHEMA_MISMATCH", "column \"" + column.field.name + "\" has values of several types: give a schema", "");
        }
      }
    }
    return shared;
  }

  private static boolean hasVariants(Field field) {
    return field.isVariant() || field.children.stream().anyMatch(InternalShape::hasVariants);
  }

  static ColumnVector[] vectors(Segments segments) throws HeadraceException {
    Column[] columns = segments.columns();
    ColumnVector[] vectors = new ColumnVector[columns.length];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = BatchVector.of(columns[i]);
    }
    return vectors;
  }

  @Override
  public void batch(Segments segments) throws HeadraceException {
    this.segments = segments;
    vectors = isShared(segments) ? vectors(segments) : null;
  }

  @Override
  public void make(int from, int to, InternalRow[] out) throws HeadraceException {
    for (int n = from; n < to; n++) {
      if (vectors != null) {
        ColumnarBatchRow row = new ColumnarBatchRow(vectors);
        row.rowId = n;
        out[n - from] = row;
      } else {
        out[n - from] = row(segments, n);
      }
    }
  }

  /** A row of its own, of values. */
  static InternalRow row(Segments segments, int n) throws HeadraceException {
    StructType type = segments.type();
    Column rest = segments.rest();
    Column[] columns = segments.columns();
    Object[] values = new Object[columns.length];
    long number = segments.before() + n;
    if (rest != null && !rest.isNull(n)) {
      Object row = Variant.read(rest, n, Nested.JAVA);
      boolean value = "value".equals(segments.schema().told.get(Field.PY));
      values = ArrayShape.fitted(value ? new Object[] {row} : row, type, Nested.JAVA, number);
    } else {
      for (int i = 0; i < values.length; i++) {
        values[i] = Values.get(columns[i], n, Nested.JAVA);
      }
    }
    for (int i = 0; i < values.length; i++) {
      values[i] = InternalValues.of(values[i], type.apply(i).dataType(), "row " + number + ", column \"" + type.apply(i).name() + "\"");
    }
    return new GenericInternalRow(values);
  }
}
