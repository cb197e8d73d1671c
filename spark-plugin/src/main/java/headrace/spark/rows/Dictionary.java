package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The values of a dictionary, of which each is made once. Those that were told stay as they are, and more may follow. */
final class Dictionary {
  private static final int MOST = Integer.MAX_VALUE - 8;

  private final List<Column> told = new ArrayList<>();
  private final Made values = new Made();
  private final Made internal = new Made();
  private int size;
  private boolean nulls;

  /** What was made of the values told first. Batches share the array; it is replaced by a longer one, never changed. */
  private static final class Made {
    Object[] values = {};
    int columns;
    int size;

    void room(int size) {
      if (size > values.length) {
        values = Arrays.copyOf(values, (int) Math.min(MOST, Math.max(size, 2L * values.length)));
      }
    }
  }

  int size() {
    return size;
  }

  boolean hasNulls() {
    return nulls;
  }

  void add(Column column, BatchHead head) throws HeadraceException {
    long more = (long) size + column.length;
    if (more > (column.values.length == 0 ? BatchReader.MOST_WITHOUT_BUFFER : MOST)) {
      throw head.damage("the dictionary of column \"" + column.field.name + "\" has too many values");
    }
    told.add(column);
    nulls |= column.nulls > 0;
    size = (int) more;
  }

  /** As `Object[]` and `Row` have them; at least as many as were told. */
  Object[] values() throws HeadraceException {
    values.room(size);
    for (; values.columns < told.size(); values.columns++) {
      Column column = told.get(values.columns);
      for (int n = 0; n < column.length; n++) {
        values.values[values.size++] = Values.get(column, n, Nested.JAVA);
      }
    }
    return values.values;
  }

  /** As `InternalRow` has them. */
  Object[] internal() throws HeadraceException {
    internal.room(size);
    for (; internal.columns < told.size(); internal.columns++) {
      Column column = told.get(internal.columns);
      for (int n = 0; n < column.length; n++) {
        internal.values[internal.size++] = InternalValues.get(column, n);
      }
    }
    return internal.values;
  }
}
