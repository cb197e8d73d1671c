package headrace.spark.rows;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Writes a flatbuffer from front to back: what a table points to follows it. The first table is the root. */
final class FlatbufferWriter {
  private byte[] bytes = new byte[1024];
  private int length = 4;
  private boolean rooted;
  private int layout;
  private int table;
  private int slot;

  byte[] bytes() {
    return bytes;
  }

  int length() {
    return length;
  }

  private void room(int more) {
    if (length + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(length + more, 2 * bytes.length));
    }
  }

  private void pad(int alignment, int ahead) {
    room(alignment);
    while ((length + ahead) % alignment != 0) {
      bytes[length++] = 0;
    }
  }

  private void put(long value, int size) {
    room(size);
    for (int i = 0; i < size; i++) {
      bytes[length++] = (byte) (value >> 8 * i);
    }
  }

  private void set(int at, long value, int size) {
    for (int i = 0; i < size; i++) {
      bytes[at + i] = (byte) (value >> 8 * i);
    }
  }

  /** Begin a table of so many slots, which {@code int8} and the like fill in their order. */
  void table(int slots) {
    pad(2, 0);
    layout = length;
    room(4 + 2 * slots);
    length += 4 + 2 * slots;
    // At a multiple of eight, so that each slot can be aligned within the table.
    pad(8, 0);
    table = length;
    put(table - layout, 4);
    set(layout, 4 + 2 * slots, 2);
    set(layout + 2, 4, 2);
    slot = 0;
    if (!rooted) {
      set(0, table, 4);
      rooted = true;
    }
  }

  /** Where the table begins that is written next with so many slots. */
  private int nextTable(int slots) {
    return ((length + 1) / 2 * 2 + 4 + 2 * slots + 7) / 8 * 8;
  }

  private int slot(long value, int size) {
    pad(size, 0);
    int at = length;
    put(value, size);
    set(layout + 4 + 2 * slot++, at - table, 2);
    set(layout + 2, length - table, 2);
    return at;
  }

  void int8(int value) {
    slot(value, 1);
  }

  void int16(int value) {
    slot(value, 2);
  }

  void int32(int value) {
    slot(value, 4);
  }

  void int64(long value) {
    slot(value, 8);
  }

  /** Leave a slot at its default. */
  void skip() {
    slot++;
  }

  /** Where an offset stands that {@code point}, {@code text} and others will fill. */
  int offset() {
    return slot(0, 4);
  }

  /** Have an offset point to the table that is written next, with so many slots. */
  void pointToTable(int from, int slots) {
    set(from, nextTable(slots) - from, 4);
  }

  private void point(int from) {
    set(from, length - from, 4);
  }

  void text(int from, String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    pad(4, 0);
    point(from);
    put(utf8.length, 4);
    room(utf8.length + 1);
    System.arraycopy(utf8, 0, bytes, length, utf8.length);
    length += utf8.length;
    put(0, 1);
  }

  /** Write a vector of offsets; gives where they stand. */
  int offsets(int from, int count) {
    pad(4, 0);
    point(from);
    put(count, 4);
    int start = length;
    room(4 * count);
    Arrays.fill(bytes, start, start + 4 * count, (byte) 0);
    length += 4 * count;
    return start;
  }

  /** Write a vector of structs of two longs, of which there are {@code count / 2}. */
  void pairs(int from, long[] numbers, int count) {
    pad(8, 4);
    point(from);
    put(count / 2, 4);
    for (int i = 0; i < count; i++) {
      put(numbers[i], 8);
    }
  }
}
