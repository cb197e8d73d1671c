package headrace.spark.rows;

import org.apache.spark.unsafe.Platform;

/** Some bytes of an array, and where they begin in the input. */
final class Slice {
  static final Slice EMPTY = new Slice(new byte[0], 0, 0, 0);

  final byte[] bytes;
  final int begin;
  final int length;
  final long at;

  Slice(byte[] bytes, int begin, int length, long at) {
    this.bytes = bytes;
    this.begin = begin;
    this.length = length;
    this.at = at;
  }

  /** Where `Platform` finds the first byte. */
  long address() {
    return Platform.BYTE_ARRAY_OFFSET + begin;
  }

  /** Args: both within these bytes. */
  Slice part(int from, int length) {
    return new Slice(bytes, begin + from, length, at + from);
  }
}
