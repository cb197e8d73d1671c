package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Rows as Spark's unpickler gives them: a value that is no record by itself, and integers of 32 bits as such. */
final class ValueShape implements RowReader.Shape<Object> {
  private final ArrayShape arrays = new ArrayShape(Nested.JAVA, null);
  private Segments segments;
  private boolean values;

  @Override
  public Object[] room(int rows) {
    return arrays.room(rows);
  }

  @Override
  public void batch(Segments segments) throws HeadraceException {
    arrays.batch(segments);
    this.segments = segments;
    values = "value".equals(segments.schema().told.get(Field.PY));
  }

  @Override
  public void make(int from, int to, Object[] out) throws HeadraceException {
    arrays.make(from, to, out);
    Column rest = segments.rest();
    for (int i = 0; i < to - from; i++) {
      boolean fits = rest == null || rest.isNull(from + i);
      out[i] = narrowed(values && fits ? ((Object[]) out[i])[0] : out[i]);
    }
  }

  @SuppressWarnings("unchecked")
  private static Object narrowed(Object value) {
    if (value instanceof Long) {
      long number = (Long) value;
      return number == (int) number ? (Object) (int) number : value;
    } else if (value instanceof Object[]) {
      Object[] all = (Object[]) value;
      for (int i = 0; i < all.length; i++) {
        all[i] = narrowed(all[i]);
      }
    } else if (value instanceof List) {
      ((List<Object>) value).replaceAll(ValueShape::narrowed);
    } else if (value instanceof Map) {
      Map<Object, Object> narrowed = new HashMap<>();
      ((Map<Object, Object>) value).forEach((key, of) -> narrowed.put(narrowed(key), narrowed(of)));
      return narrowed;
    }
    return value;
  }
}
