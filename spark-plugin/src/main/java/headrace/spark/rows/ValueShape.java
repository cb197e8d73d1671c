package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Rows as Spark's unpickler gives them: a value that is no record by itself, and integers of 32 bits as such. */
final class ValueShape implements RowReader.Shape<Object> {
  /** Entries of a dict that Python puts into a pickle at once. */
  private static final int PICKLED = 1_000;

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
      return unpickled((Map<Object, Object>) value);
    }
    return value;
  }

  /** Its order is that of Spark's unpickler, whom Python's pickles give a thousand entries at once: each lot is put backwards. */
  private static Map<Object, Object> unpickled(Map<Object, Object> map) {
    List<Map.Entry<Object, Object>> entries = new ArrayList<>(map.entrySet());
    Map<Object, Object> made = new HashMap<>(0);
    for (int from = 0; from < entries.size(); from += PICKLED) {
      Map<Object, Object> lot = new HashMap<>();
      for (int i = Math.min(from + PICKLED, entries.size()) - 1; i >= from; i--) {
        Map.Entry<Object, Object> entry = entries.get(i);
        lot.put(narrowed(entry.getKey()), narrowed(entry.getValue()));
      }
      if (entries.size() == 1) {
        return lot;
      }
      made.putAll(lot);
    }
    return made;
  }
}
