package headrace.spark.rows;

import java.util.Arrays;

/** True and false. */
final class BitBuilder extends ColumnBuilder {
  private byte[] values = new byte[128];

  BitBuilder(Field field, String path) {
    super(field, path);
  }

  @Override
  void add(Object value) throws Unfit {
    if (!(value instanceof Boolean)) {
      throw Unfit.of(path, value, "BOOLEAN");
    }
    addNull();
    if ((Boolean) value) {
      values[length / 8] |= 1 << length % 8;
    }
    length++;
  }

  @Override
  void addNull() throws Unfit {
    if (length / 8 == values.length) {
      values = grown(values, values.length + 1L);
    }
  }

  @Override
  void truncateValues(int n) {
    if (n < length) {
      values[n / 8] &= (1 << n % 8) - 1;
      Arrays.fill(values, Math.min(values.length, n / 8 + 1), Math.min(values.length, length / 8 + 1), (byte) 0);
    }
  }

  @Override
  void clear() {
    super.clear();
    Arrays.fill(values, (byte) 0);
  }

  @Override
  long size() {
    return length / 8;
  }

  @Override
  void values(BatchWriter batch) {
    batch.buffer(values, (length + 7) / 8);
  }
}
