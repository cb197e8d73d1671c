package headrace.spark.rows;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * A column as it is filled, value by value, and how it goes onto the wire. What is public is for generated classes.
 *
 * <p>Values are given as `Object[]` and `Row` have them ({@code put}), or as `InternalRow` has them ({@code putInternal}).
 */
public abstract class ColumnBuilder {
  static final int MOST_BYTES = Integer.MAX_VALUE - 8;

  final Field field;

  /** The name with those of the fields around it. */
  final String path;

  int length;
  int nulls;

  /** One bit a value; null as long as there are no nulls. Values to come are there. */
  private byte[] validity;

  ColumnBuilder(Field field, String path) {
    this.field = field;
    this.path = path;
  }

  /** Add a value as `Object[]` and `Row` have it. */
  public final void put(Object value) throws Unfit {
    if (value == null) {
      putNull();
    } else {
      add(value);
    }
  }

  /** Add a value as `InternalRow` has it. */
  public final void putInternal(Object value) throws Unfit {
    if (value == null) {
      putNull();
    } else {
      addInternal(value);
    }
  }

  public final void putNull() throws Unfit {
    if (!field.nullable) {
      throw Unfit.of(path, "the key of a map is null");
    }
    addNull();
    int at = length++;
    nulls++;
    if (validity == null || at / 8 >= validity.length) {
      int before = validity == null ? 0 : validity.length;
      validity = validity == null ? new byte[Math.max(64, at / 8 + 1)] : Arrays.copyOf(validity, 2 * (at / 8 + 1));
      Arrays.fill(validity, before, validity.length, (byte) -1);
    }
    validity[at / 8] &= ~(1 << at % 8);
  }

  abstract void add(Object value) throws Unfit;

  void addInternal(Object value) throws Unfit {
    add(value);
  }

  /** Fill the place of a value that is not there. */
  abstract void addNull() throws Unfit;

  boolean isNull(int n) {
    return nulls > 0 && n / 8 < validity.length && (validity[n / 8] >> n % 8 & 1) == 0;
  }

  /** Forget the values from the n-th on, also those that were half written. */
  final void truncate(int n) {
    for (int at = n; nulls > 0 && at < length; at++) {
      if (isNull(at)) {
        nulls--;
        validity[at / 8] |= 1 << at % 8;
      }
    }
    truncateValues(n);
    length = n;
  }

  abstract void truncateValues(int n);

  /** Forget all values, and keep the room and the dictionaries: a batch is done. */
  void clear() {
    length = 0;
    nulls = 0;
    validity = null;
  }

  /** Bytes that the values take. */
  abstract long size();

  /** Make ready to be written. What the schema depends on goes to {@code signature}. */
  void settle(StringBuilder signature) {}

  /** Call for each dictionary, in the order of their ids. */
  void dictionaries(Consumer<TextBuilder> each) {}

  /** As the schema tells it. */
  Field written() {
    return field;
  }

  /** Hand its arrays to a batch. */
  final void arrays(BatchWriter batch) {
    batch.node(length, nulls);
    if (!hasBuffers()) {
      return;
    }
    if (nulls > 0) {
      int before = validity.length;
      if (before < (length + 7) / 8) {
        validity = Arrays.copyOf(validity, (length + 7) / 8);
        Arrays.fill(validity, before, validity.length, (byte) -1);
      }
      batch.buffer(validity, (length + 7) / 8);
    } else {
      batch.buffer(validity, 0);
    }
    values(batch);
  }

  boolean hasBuffers() {
    return true;
  }

  abstract void values(BatchWriter batch);

  /** Room for more bytes. */
  final byte[] grown(byte[] bytes, long needed) throws Unfit {
    if (needed > MOST_BYTES) {
      throw Unfit.full(path);
    }
    return Arrays.copyOf(bytes, (int) Math.min(MOST_BYTES, Math.max(needed, 2L * bytes.length)));
  }
}
