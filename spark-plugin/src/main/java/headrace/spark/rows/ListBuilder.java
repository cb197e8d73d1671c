package headrace.spark.rows;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;

/** Lists, and maps: lists of their entries. */
final class ListBuilder extends NestedBuilder {
  /** One more than values. */
  private byte[] offsets = new byte[1024];

  /** Args: {@code parts} are the values; keys and values, of a map. */
  ListBuilder(Field field, String path, ColumnBuilder[] parts, DataType[] types) {
    super(field, path, parts, types);
  }

  private boolean isMap() {
    return parts.length == 2;
  }

  @Override
  void add(Object value) throws Unfit {
    Object[] values = isMap() ? entries(value) : values(value);
    if (values == null) {
      throw Unfit.of(path, value, isMap() ? "MAP" : "ARRAY");
    }
    for (int i = 0; i < values.length; i++) {
      parts[i % parts.length].put(values[i]);
    }
    addEnd();
    length++;
  }

  private static Object[] values(Object value) {
    if (value instanceof List) {
      return ((List<?>) value).toArray();
    }
    return value instanceof Object[] ? (Object[]) value : ScalaNested.values(value);
  }

  /** Keys and values by turns. */
  private static Object[] entries(Object value) {
    if (!(value instanceof Map)) {
      return ScalaNested.entries(value);
    }
    Map<?, ?> map = (Map<?, ?>) value;
    Object[] entries = new Object[2 * map.size()];
    int n = 0;
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      entries[n++] = entry.getKey();
      entries[n++] = entry.getValue();
    }
    return entries;
  }

  @Override
  void addInternal(Object value) throws Unfit {
    if (isMap() && value instanceof MapData) {
      addInternal(0, ((MapData) value).keyArray());
      addInternal(1, ((MapData) value).valueArray());
    } else if (!isMap() && value instanceof ArrayData) {
      addInternal(0, (ArrayData) value);
    } else {
      throw Unfit.of(path, value, isMap() ? "MAP" : "ARRAY");
    }
    addEnd();
    length++;
  }

  private void addInternal(int part, ArrayData values) throws Unfit {
    for (int i = 0; i < values.numElements(); i++) {
      parts[part].putInternal(values.isNullAt(i) ? null : values.get(i, types[part]));
    }
  }

  private void addEnd() throws Unfit {
    int at = 4 * (length + 1);
    if (at + 4 > offsets.length) {
      offsets = grown(offsets, at + 4L);
    }
    Platform.putInt(offsets, Platform.BYTE_ARRAY_OFFSET + at, parts[0].length);
  }

  @Override
  void addNull() throws Unfit {
    addEnd();
  }

  @Override
  void truncateValues(int n) {
    for (ColumnBuilder part : parts) {
      part.truncate(Platform.getInt(offsets, Platform.BYTE_ARRAY_OFFSET + 4L * n));
    }
  }

  @Override
  long size() {
    return 4L * length + super.size();
  }

  @Override
  Field written() {
    if (isMap()) {
      return field.of(List.of(field.children.get(0).of(List.of(parts[0].written(), parts[1].written()))));
    }
    return field.of(List.of(parts[0].written()));
  }

  @Override
  void values(BatchWriter batch) {
    batch.buffer(offsets, 4 * (length + 1));
    if (isMap()) {
      batch.node(parts[0].length, 0);
      batch.buffer(offsets, 0);
    }
    for (ColumnBuilder part : parts) {
      part.arrays(batch);
    }
  }
}
