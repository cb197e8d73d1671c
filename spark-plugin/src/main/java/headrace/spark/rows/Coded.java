package headrace.spark.rows;

import java.util.Arrays;
import java.util.function.IntPredicate;
import org.apache.spark.unsafe.Platform;

/** Texts of a column that repeat: each is kept once, and told by its place. */
final class Coded {
  /** More texts than these are no dictionary; places have 16 bits. */
  private static final int MOST = 1 << 15;

  private static final int MOST_BYTES = 1 << 24;

  /** After so many texts it is looked at whether they repeat. */
  private static final int TRIAL = 128;

  /** Fewer values than these are not worth a message of their own. */
  static final int FEWEST = 64;

  /** Odd, as their sums are, by which words are multiplied. */
  private static final long FACTOR = 0x9e3779b97f4a7c15L;

  private static final long STEP = 0xa0761d6478bd642eL;

  /** What a slot has of a place, plus one; and whether its text is not of ASCII. */
  private static final long PLACE = 0xffff;

  private static final long WIDE = 1 << 16;

  /** Of each value of the batch. */
  private short[] places = new short[256];

  private int count;

  /** Values whose texts are in {@code plain}. */
  private int counted;

  private long plain;

  /** By the hash of a text: its place plus one, zero where there is none; above it the upper half of the hash. */
  private long[] slots = new long[512];

  /** Where each text begins in {@code bytes}; where the last ends, too. */
  private int[] begins = new int[257];

  private byte[] bytes = new byte[1024];
  private int texts;

  /** How many the segment has been told; -1 before the first time. */
  int sent = -1;

  /** In the segment. */
  long id;

  /** Values of earlier batches. */
  private long before;

  private int width;

  int size() {
    return texts;
  }

  byte[] bytes() {
    return bytes;
  }

  int begin(int place) {
    return begins[place];
  }

  int place(int n) {
    return places[n];
  }

  /**
   * Add a text that is known; false if it is not, or looks like one that is not of ASCII.
   *
   * <p>Args: the text is of ISO 8859-1.
   */
  boolean putKnown(byte[] text) {
    int length = text.length;
    long from = Platform.BYTE_ARRAY_OFFSET;
    long found = isShort(length) ? findShort(text, from, length) : find(text, from, length, hash(text, from, length));
    if (found == 0 || (found & WIDE) != 0) {
      return false;
    }
    push((int) (found & PLACE) - 1);
    return true;
  }

  /** Whether four words, which overlap, are all of a text: its length then decides no branch, which would be guessed wrong. */
  private static boolean isShort(int length) {
    return length >= 8 && length <= 32;
  }

  /** As {@code find} does. Args: {@code length} is short. */
  private long findShort(byte[] text, long from, int length) {
    int last = length - 8;
    int second = Math.min(8, last);
    int third = Math.min(16, last);
    long a = Platform.getLong(text, from);
    long b = Platform.getLong(text, from + second);
    long c = Platform.getLong(text, from + third);
    long d = Platform.getLong(text, from + last);
    long hash = mixed(a, b, c, d, length);
    int mask = slots.length - 1;
    int slot = (int) hash & mask;
    for (long found = slots[slot]; found != 0; found = slots[slot]) {
      if ((found ^ hash) >>> 32 == 0) {
        int place = (int) (found & PLACE) - 1;
        int begin = begins[place];
        if (begins[place + 1] - begin == length) {
          long at = Platform.BYTE_ARRAY_OFFSET + begin;
          long other = Platform.getLong(bytes, at) ^ a | Platform.getLong(bytes, at + second) ^ b
              | Platform.getLong(bytes, at + third) ^ c | Platform.getLong(bytes, at + last) ^ d;
          if (other == 0) {
            return found;
          }
        }
      }
      slot = slot + 1 & mask;
    }
    return 0;
  }

  private static long mixed(long a, long b, long c, long d, int length) {
    long hash = (a ^ length) * FACTOR + b * (FACTOR + STEP) + c * (FACTOR + 2 * STEP) + d * (FACTOR + 3 * STEP);
    hash = (hash ^ hash >>> 32) * FACTOR;
    return hash ^ hash >>> 32;
  }

  /** Add a text of UTF-8; false where there are too many different ones. */
  boolean put(byte[] text, long from, int length) {
    long hash = hash(text, from, length);
    long found = find(text, from, length, hash);
    if (found != 0) {
      push((int) (found & PLACE) - 1);
      return true;
    }
    return add(text, from, length, hash);
  }

  /** The slot of a text; zero if there is none. */
  private long find(byte[] text, long from, int length, long hash) {
    int mask = slots.length - 1;
    int slot = (int) hash & mask;
    for (long found = slots[slot]; found != 0; found = slots[slot]) {
      if ((found ^ hash) >>> 32 == 0) {
        int place = (int) (found & PLACE) - 1;
        int begin = begins[place];
        if (begins[place + 1] - begin == length && same(text, from, Platform.BYTE_ARRAY_OFFSET + begin, length)) {
          return found;
        }
      }
      slot = slot + 1 & mask;
    }
    return 0;
  }

  void putNull() {
    push(0);
  }

  private void push(int place) {
    if (count == places.length) {
      places = Arrays.copyOf(places, 2 * count);
    }
    places[count++] = (short) place;
  }

  private boolean add(byte[] text, long from, int length, long hash) {
    boolean allNew = texts >= TRIAL && 2L * texts > before + count;
    if (texts == MOST || allNew || (long) begins[texts] + length > MOST_BYTES) {
      return false;
    }
    int begin = begins[texts];
    int end = begin + length;
    if (end > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(end, 2 * bytes.length));
    }
    System.arraycopy(text, (int) (from - Platform.BYTE_ARRAY_OFFSET), bytes, begin, length);
    if (texts + 2 > begins.length) {
      begins = Arrays.copyOf(begins, 2 * begins.length);
    }
    begins[++texts] = end;
    push(texts - 1);
    if (4 * texts > slots.length) {
      slots = new long[4 * slots.length];
      for (int place = 0; place < texts; place++) {
        keep(place, hash(bytes, Platform.BYTE_ARRAY_OFFSET + begins[place], begins[place + 1] - begins[place]));
      }
    } else {
      keep(texts - 1, hash);
    }
    return true;
  }

  private void keep(int place, long hash) {
    int mask = slots.length - 1;
    int slot = (int) hash & mask;
    while (slots[slot] != 0) {
      slot = slot + 1 & mask;
    }
    boolean ascii = Texts.isAscii(bytes, begins[place], begins[place + 1]);
    slots[slot] = hash & 0xffffffffL << 32 | (ascii ? 0 : WIDE) | place + 1;
  }

  private boolean same(byte[] text, long from, long at, int length) {
    int n = 0;
    for (; n <= length - 8; n += 8) {
      if (Platform.getLong(text, from + n) != Platform.getLong(bytes, at + n)) {
        return false;
      }
    }
    if (length >= 8) { // the last words overlap those before
      return Platform.getLong(text, from + length - 8) == Platform.getLong(bytes, at + length - 8);
    }
    for (; n < length; n++) {
      if (Platform.getByte(text, from + n) != Platform.getByte(bytes, at + n)) {
        return false;
      }
    }
    return true;
  }

  /** A multiply for each eight bytes, none of which waits for another. */
  private static long hash(byte[] text, long from, int length) {
    if (isShort(length)) {
      int last = length - 8;
      long b = Platform.getLong(text, from + Math.min(8, last));
      long c = Platform.getLong(text, from + Math.min(16, last));
      return mixed(Platform.getLong(text, from), b, c, Platform.getLong(text, from + last), length);
    }
    long hash = length;
    if (length >= 8) {
      long factor = FACTOR;
      for (int n = 0; n < length - 8; n += 8) {
        hash += Platform.getLong(text, from + n) * factor;
        factor += STEP;
      }
      hash ^= Platform.getLong(text, from + length - 8) * FACTOR;
    } else if (length >= 4) {
      hash |= Platform.getInt(text, from) * STEP ^ (long) Platform.getInt(text, from + length - 4) << 32;
    } else {
      for (int n = 0; n < length; n++) {
        hash = hash << 8 | Platform.getByte(text, from + n) & 0xff;
      }
    }
    hash = (hash ^ hash >>> 32) * FACTOR;
    return hash ^ hash >>> 32;
  }

  /** Whether the values so far are told in less by it. */
  boolean pays(int nulls) {
    return sent >= 0 || count >= FEWEST && 2 * texts <= count - nulls;
  }

  int settledWidth() {
    width = Math.max(width, texts <= 128 ? 1 : 2);
    return width;
  }

  /** Bytes that the values would take as texts. Args: {@code nulls} tells which of them are none. */
  long plain(IntPredicate nulls) {
    for (; counted < count; counted++) {
      if (!nulls.test(counted)) {
        plain += begins[places[counted] + 1] - begins[places[counted]];
      }
    }
    return plain;
  }

  void truncate(int n) {
    count = n;
    if (n < counted) {
      counted = 0;
      plain = 0;
    }
  }

  void nextBatch() {
    before += count;
    count = 0;
    counted = 0;
    plain = 0;
  }

  /** The places of the values, as a buffer. */
  void places(BatchWriter batch) {
    byte[] out = batch.scratch(width * count);
    for (int n = 0; n < count; n++) {
      if (width == 1) {
        out[n] = (byte) places[n];
      } else {
        Platform.putShort(out, Platform.BYTE_ARRAY_OFFSET + 2L * n, places[n]);
      }
    }
    batch.buffer(out, width * count);
  }

  /** The texts that the segment has not been told, as an array. */
  void told(BatchWriter batch) {
    int from = Math.max(0, sent);
    int count = texts - from;
    batch.node(count, 0);
    batch.buffer(bytes, 0);
    byte[] offsets = batch.scratch(4 * (count + 1));
    for (int n = 0; n <= count; n++) {
      Platform.putInt(offsets, Platform.BYTE_ARRAY_OFFSET + 4L * n, begins[from + n] - begins[from]);
    }
    batch.buffer(offsets, 4 * (count + 1));
    batch.buffer(bytes, begins[from], begins[texts] - begins[from]);
  }
}
