package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/** Rows as arrays of their values. */
final class ArrayShape implements RowReader.Shape<Object> {
  private final Nested nested;

  /** Null if rows that do not fit their columns are what they were. */
  private final StructType asked;

  private Segments segments;
  private RowMaker maker;
  private RowMaker.Buffers buffers;

  ArrayShape(Nested nested, StructType asked) {
    this.nested = nested;
    this.asked = asked;
  }

  @Override
  public Object[] room(int rows) {
    return new Object[rows];
  }

  @Override
  public void batch(Segments segments) throws HeadraceException {
    this.segments = segments;
    maker = RowMakers.of(segments.columns(), segments.rows());
    buffers = new RowMaker.Buffers(segments.columns(), nested);
  }

  @Override
  public void make(int from, int to, Object[] out) throws HeadraceException {
    if (maker != null) {
      maker.make(buffers, from, to, out);
    } else {
      Column[] columns = segments.columns();
      for (int n = from; n < to; n++) {
        Object[] row = new Object[columns.length];
        for (int i = 0; i < row.length; i++) {
          row[i] = Values.get(columns[i], n, nested);
        }
        out[n - from] = row;
      }
    }
    Column rest = segments.rest();
    for (int n = from; rest != null && n < to; n++) {
      if (!rest.isNull(n)) {
        out[n - from] = rest(rest, n);
      }
    }
  }

  private Object rest(Column rest, int n) throws HeadraceException {
    Object row = Variant.read(rest, n, Nested.JAVA);
    if ("value".equals(segments.schema().told.get(Field.PY))) {
      row = new Object[] {row};
    }
    return asked == null ? row : fitted(row, asked, nested, segments.before() + n);
  }

  /** The values of a row by a schema. */
  static Object[] fitted(Object row, StructType schema, Nested nested, long number) throws HeadraceException {
    Object[] values = values(row, schema);
    if (values == null || values.length != schema.length()) {
      throw new HeadraceException(
          "SCHEMA_MISMATCH",
          "row " + number + " is " + (row == null ? "null" : InternalValues.shortened(row)) + ", and not of the columns asked for",
          "");
    }
    for (int i = 0; i < values.length; i++) {
      String where = "row " + number + ", column \"" + schema.apply(i).name() + "\"";
      values[i] = Values.of(values[i], schema.apply(i).dataType(), nested, where);
    }
    return values;
  }

  /** By places, or by names where there are some; null where neither is there. */
  private static Object[] values(Object row, StructType schema) {
    if (row instanceof Object[]) {
      return ((Object[]) row).clone();
    } else if (row instanceof List) {
      return ((List<?>) row).toArray();
    }
    String[] names = schema.fieldNames();
    Object[] values = new Object[names.length];
    for (int i = 0; i < names.length; i++) {
      if (row instanceof Map && ((Map<?, ?>) row).containsKey(names[i])) {
        values[i] = ((Map<?, ?>) row).get(names[i]);
      } else if (row instanceof Row && ((Row) row).schema().getFieldIndex(names[i]).isDefined()) {
        values[i] = ((Row) row).get(((Row) row).fieldIndex(names[i]));
      } else {
        return null;
      }
    }
    return values;
  }
}
