package headrace.spark.rows;

import org.apache.spark.unsafe.Platform;

/** Bytes as texts. */
final class Texts {
  /** Those that no byte of ASCII has. */
  static final long HIGH_BITS = 0x8080808080808080L;

  private Texts() {}

  static boolean isAscii(byte[] bytes, int from, int to) {
    long begin = Platform.BYTE_ARRAY_OFFSET + (long) from;
    int count = to - from;
    long all = 0;
    if (count >= 8) {
      for (int at = 0; at < count - 8; at += 8) {
        all |= Platform.getLong(bytes, begin + at);
      }
      all |= Platform.getLong(bytes, begin + count - 8); // the last words overlap
    } else if (count >= 4) {
      all = Platform.getInt(bytes, begin) | Platform.getInt(bytes, begin + count - 4);
    } else {
      for (int at = from; at < to; at++) {
        all |= bytes[at];
      }
    }
    return (all & HIGH_BITS) == 0;
  }

  /** Whether bytes are UTF-8, in which no surrogates are. */
  static boolean isUtf8(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to) {
      int first = bytes[at++];
      if (first >= 0) {
        continue;
      }
      int more; // bytes that follow
      int least = 0x80; // of the first of these
      int most = 0xbf;
      first &= 0xff;
      if (first >= 0xc2 && first <= 0xdf) {
        more = 1;
      } else if (first >= 0xe0 && first <= 0xef) {
        more = 2;
        least = first == 0xe0 ? 0xa0 : 0x80;
        most = first == 0xed ? 0x9f : 0xbf;
      } else if (first >= 0xf0 && first <= 0xf4) {
        more = 3;
        least = first == 0xf0 ? 0x90 : 0x80;
        most = first == 0xf4 ? 0x8f : 0xbf;
      } else {
        return false;
      }
      if (more > to - at) {
        return false;
      }
      int second = bytes[at] & 0xff;
      if (second < least || second > most) {
        return false;
      }
      for (int i = 1; i < more; i++) {
        if (!isInner(bytes[at + i])) {
          return false;
        }
      }
      at += more;
    }
    return true;
  }

  /** Whether a byte is within a character, and does not begin it. */
  static boolean isInner(byte one) {
    return (one & 0xc0) == 0x80;
  }
}
