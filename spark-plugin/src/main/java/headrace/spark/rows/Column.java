package headrace.spark.rows;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;

/**
 * A column of a batch: its buffers, of which every size, offset and index has been checked, so that they may be read by
 * address. All numbers are in the machine's byte order, offsets have 32 bits, and times are in microseconds.
 */
final class Column {
  final Field field;

  /** What its values are to Spark; of a variant, null unless one was asked for. */
  final DataType type;

  final int length;
  int nulls;

  /** One bit a value; null where all are there. */
  Slice validity;

  /** Values of one size, bits, indices, or offsets. */
  Slice values = Slice.EMPTY;

  /** Of each value, or index, in {@code values}. */
  int width;

  /** What the offsets point into. */
  Slice bytes = Slice.EMPTY;

  /** Whether all of {@code bytes} are of ASCII. */
  boolean ascii;

  Column[] children = {};

  /** Null unless {@code values} are places in one. */
  Dictionary dictionary;

  /** How many values it has now; more may come. */
  int dictionarySize;

  Column(Field field, DataType type, int length) {
    this.field = field;
    this.type = type;
    this.length = length;
  }

  boolean isNull(int n) {
    if (nulls == 0) {
      return false;
    }
    return validity == null || !bit(validity, n);
  }

  private static boolean bit(Slice bits, int n) {
    return (bits.bytes[bits.begin + (n >> 3)] >> (n & 7) & 1) != 0;
  }

  boolean bit(int n) {
    return bit(values, n);
  }

  /** An integer of any width, or an index. */
  long integer(int n) {
    long at = values.address() + (long) width * n;
    switch (width) {
      case 1:
        byte one = Platform.getByte(values.bytes, at);
        return signed() ? one : Byte.toUnsignedLong(one);
      case 2:
        short two = Platform.getShort(values.bytes, at);
        return signed() ? two : Short.toUnsignedLong(two);
      case 4:
        int four = Platform.getInt(values.bytes, at);
        return signed() ? four : Integer.toUnsignedLong(four);
      default:
        return Platform.getLong(values.bytes, at);
    }
  }

  private boolean signed() {
    return dictionary == null ? field.type.signed : field.coding.signed;
  }

  float floating(int n) {
    long at = values.address() + (long) width * n;
    return width == 2 ? Numbers.ofHalf(Platform.getShort(values.bytes, at)) : Platform.getFloat(values.bytes, at);
  }

  /** As a float where it has 32 bits or less. */
  double real(int n) {
    return width == 8 ? Platform.getDouble(values.bytes, values.address() + 8L * n) : floating(n);
  }

  /** Where the n-th value begins in {@code bytes}, or in the child; where the last ends, too. */
  int offset(int n) {
    if (field.type.kind == ArrowType.Kind.FIXED_LIST) {
      return field.type.size * n;
    }
    return Platform.getInt(values.bytes, values.address() + 4L * n);
  }
}
