package headrace.spark.rows;

import headrace.spark.HeadraceException;

/**
 * Makes rows of the columns of a batch. Its classes are generated, one for a layout of columns, in class loaders of their own:
 * so all that they touch is public.
 */
public abstract class RowMaker {
  /** Where the columns of a batch lie, for each of them. What a column has not is null. */
  public static final class Buffers {
    public final byte[][] validity;
    public final int[] validityBegin;
    public final byte[][] values;

    /** By which `Platform` finds the values. */
    public final long[] valuesAt;

    public final byte[][] bytes;
    public final int[] bytesBegin;
    public final boolean[] ascii;
    public final Object[][] dictionaries;
    private final Column[] columns;
    private final Nested nested;

    Buffers(Column[] columns, Nested nested) throws HeadraceException {
      this.columns = columns;
      this.nested = nested;
      validity = new byte[columns.length][];
      validityBegin = new int[columns.length];
      values = new byte[columns.length][];
      valuesAt = new long[columns.length];
      bytes = new byte[columns.length][];
      bytesBegin = new int[columns.length];
      ascii = new boolean[columns.length];
      dictionaries = new Object[columns.length][];
      for (int i = 0; i < columns.length; i++) {
        Column column = columns[i];
        if (column.nulls > 0 && column.validity != null) {
          validity[i] = column.validity.bytes;
          validityBegin[i] = column.validity.begin;
        }
        values[i] = column.values.bytes;
        valuesAt[i] = column.values.address();
        bytes[i] = column.bytes.bytes;
        bytesBegin[i] = column.bytes.begin;
        ascii[i] = column.ascii;
        dictionaries[i] = column.dictionary == null ? null : column.dictionary.values();
      }
    }

    /** The n-th value of a column of any type. */
    public Object get(int column, int n) throws HeadraceException {
      return Values.get(columns[column], n, nested);
    }
  }

  /** Make the rows from one up to another, as arrays of their values, and put them at the start of {@code out}. */
  public abstract void make(Buffers buffers, int from, int to, Object[] out) throws HeadraceException;

  /** Args: the bytes are UTF-8, and if it says so, of ASCII. */
  public static String text(boolean ascii, byte[] bytes, int from, int to) {
    return Values.text(ascii, bytes, from, to);
  }
}
