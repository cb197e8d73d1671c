package headrace.spark.rows;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

/** Rows within rows. */
final class StructBuilder extends NestedBuilder {
  StructBuilder(Field field, String path, ColumnBuilder[] parts, DataType[] types) {
    super(field, path, parts, types);
  }

  @Override
  void add(Object value) throws Unfit {
    if (value instanceof Row && ((Row) value).length() == parts.length) {
      for (int i = 0; i < parts.length; i++) {
        parts[i].put(((Row) value).get(i));
      }
    } else if (value instanceof Object[] && ((Object[]) value).length == parts.length) {
      for (int i = 0; i < parts.length; i++) {
        parts[i].put(((Object[]) value)[i]);
      }
    } else {
      throw Unfit.of(path, value, "STRUCT of " + parts.length + " fields");
    }
    length++;
  }

  @Override
  void addInternal(Object value) throws Unfit {
    if (!(value instanceof InternalRow) || ((InternalRow) value).numFields() != parts.length) {
      throw Unfit.of(path, value, "STRUCT of " + parts.length + " fields");
    }
    InternalRow row = (InternalRow) value;
    for (int i = 0; i < parts.length; i++) {
      parts[i].putInternal(row.isNullAt(i) ? null : row.get(i, types[i]));
    }
    length++;
  }

  @Override
  void addNull() throws Unfit {
    for (ColumnBuilder part : parts) {
      part.putNull();
    }
  }

  @Override
  void truncateValues(int n) {
    for (ColumnBuilder part : parts) {
      part.truncate(n);
    }
  }

  @Override
  Field written() {
    List<Field> fields = new ArrayList<>();
    for (ColumnBuilder part : parts) {
      fields.add(part.written());
    }
    return field.of(fields);
  }

  @Override
  void values(BatchWriter batch) {
    for (ColumnBuilder part : parts) {
      part.arrays(batch);
    }
  }
}
