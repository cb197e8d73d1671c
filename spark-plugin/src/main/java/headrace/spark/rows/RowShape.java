package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.GenericRow;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Rows as those of a frame. */
final class RowShape implements RowReader.Shape<Row> {
  private final ArrayShape arrays;
  private final boolean typed;
  private Object[] values = {};
  private Segments segments;
  private StructType type;

  RowShape(StructType asked) {
    arrays = new ArrayShape(ScalaNested$.MODULE$, asked);
    typed = asked != null;
  }

  @Override
  public Row[] room(int rows) {
    values = new Object[rows];
    return new Row[rows];
  }

  @Override
  public void batch(Segments segments) throws HeadraceException {
    arrays.batch(segments);
    this.segments = segments;
    type = segments.type();
  }

  @Override
  public void make(int from, int to, Row[] out) throws HeadraceException {
    arrays.make(from, to, values);
    Column rest = typed ? null : segments.rest();
    for (int i = 0; i < to - from; i++) {
      boolean fits = rest == null || rest.isNull(from + i);
      out[i] = fits ? new GenericRowWithSchema((Object[]) values[i], type) : other(values[i]);
    }
  }

  /** Of a row that did not fit its columns. */
  private static Row other(Object row) {
    if (row == null || row instanceof Row) {
      return (Row) row;
    } else if (row instanceof Object[]) {
      return new GenericRow((Object[]) row);
    } else if (row instanceof java.util.List) {
      return new GenericRow(((java.util.List<?>) row).toArray());
    } else if (row instanceof Map) {
      Map<?, ?> map = (Map<?, ?>) row;
      Object[] names = map.keySet().toArray();
      StructField[] fields = new StructField[names.length];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = new StructField(String.valueOf(names[i]), SparkTypes.ANY, true, Metadata.empty());
      }
      return new GenericRowWithSchema(map.values().toArray(), new StructType(fields));
    }
    return new GenericRow(new Object[] {row});
  }
}
